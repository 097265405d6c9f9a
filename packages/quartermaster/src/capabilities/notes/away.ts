/** Obsidian could not be used. Whether it may have done something all the same is `mayHaveWritten`. */
export class Away extends Error {
  readonly mayHaveWritten: boolean
  /** Whether this was known before, so that nobody needs to be told. */
  readonly isKnown: boolean
  constructor(reason: string, options: { mayHaveWritten?: boolean; isKnown?: boolean; cause?: unknown } = {}) {
    super(reason, { cause: options.cause })
    this.mayHaveWritten = options.mayHaveWritten ?? false
    this.isKnown = options.isKnown ?? false
  }
}
