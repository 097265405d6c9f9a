import type { DeclarationFacts } from '../../contracts/index.ts'
import type { Origin } from './generation.ts'
import type { WrittenLines } from './written.ts'

/** A declaration as far as it can be looked at without its op. */
export interface Declaration extends Origin {
  /** Its folders and its own name, joined by `/`. */
  readonly path: string
  /** What its tool is called by. */
  readonly name: string
  /** The capability that its tool belongs to. */
  readonly capability: string
  readonly section: string
  /** What stands at its head; nothing where that is wrong. */
  readonly facts: DeclarationFacts | undefined
  readonly body: string
  /** Where in its file something stands; absent where it was not read from one. */
  readonly lines?: WrittenLines | undefined
  readonly hash: string
}
