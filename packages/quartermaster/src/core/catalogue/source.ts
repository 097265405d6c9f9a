import type { Problem } from '../../contracts/index.ts'
import type { Capability } from './capability.ts'
import type { DependencyDefinition } from './dependency.ts'
import type { Injection } from './injection.ts'
import type { Op } from './op.ts'
import type { WrittenUnit } from './written.ts'

/** Who wins when two sources bring the same name: the earlier in this list. */
export const SOURCE_KINDS = ['builtin', 'code', 'declaration', 'upstream'] as const
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** Those that win first, otherwise as they are. */
export function inOrder<T extends { readonly kind: SourceKind }>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => SOURCE_KINDS.indexOf(a.kind) - SOURCE_KINDS.indexOf(b.kind))
}

/** What one file, or one upstream, defines. */
export interface Definitions {
  readonly capabilities: readonly Capability[]
  readonly dependencies: readonly DependencyDefinition[]
  readonly injections: readonly Injection[]
  readonly ops?: readonly Op[]
  /** What was written down rather than programmed. */
  readonly written?: readonly WrittenUnit[]
}

/** A name that an upstream has, and since when. Of two upstreams the one that has had a name for longer keeps it. */
export interface NameClaim {
  /** Of a resource it is the address or the template. */
  readonly kind: 'tool' | 'prompt' | 'resource'
  readonly name: string
  readonly since: number
  /** It is kept for what waits for a person, and was offered before. */
  readonly isHeld: boolean
}

/**
 * One piece of a source that stands or falls by itself: usually a file. With an unchanged hash it is left alone,
 * whatever it holds; when it is broken, its last good version stays.
 */
export type SourceUnit =
  | {
      readonly id: string
      readonly hash: string
      /** Hash of the author's files as written; absent where the code is not read, and `revision` stands for it. */
      readonly sources?: string
      readonly definitions: Definitions
      readonly problems?: readonly Problem[]
      /** Of an upstream. */
      readonly claims?: readonly NameClaim[]
    }
  | { readonly id: string; readonly broken: readonly Problem[] }

/** Everything that brings definitions. */
export interface Source {
  readonly id: string
  readonly kind: SourceKind
  load(signal: AbortSignal): Promise<readonly SourceUnit[]>
  /** Calls back when a reload would find something new. Returns how to stop. */
  onChange?(listener: () => void): () => void
}
