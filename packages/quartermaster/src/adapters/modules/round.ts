import type { Limit } from '../../core/kernel/index.ts'
import type { Bundler } from './bundler.ts'
import type { Files } from './inputs.ts'
import type { Scratch } from './scratch.ts'

/** What all entries of one load share. */
export interface Round {
  readonly files: Files
  readonly bundler: Bundler
  readonly scratch: Scratch
  readonly limit: Limit
  readonly signal: AbortSignal
  /** Resolves when the signal aborts. One listener for all: a thousand of them make Node suspect a leak. */
  readonly aborted: Promise<void>
}
