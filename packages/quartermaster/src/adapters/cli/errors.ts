import { type ErrorKind, toAppError } from '../../contracts/index.ts'

/** The exit code for each kind of error, as `docs/reference/exit-codes.md` explains them; a test compares the two. */
export const EXIT_CODES = {
  invalid: 3,
  notFound: 4,
  unavailable: 5,
  timeout: 6,
  consentRequired: 7,
  denied: 8,
  unauthenticated: 9,
  conflict: 10,
  gone: 11,
  tooLarge: 12,
  rateLimited: 13,
  internal: 70,
  // What shells report for a program that Ctrl-C ended.
  cancelled: 130,
} as const satisfies Record<ErrorKind, number>

/** The exit codes that stand for no `AppError`. */
export const EXIT = {
  done: 0,
  /** The command ran, and its answer is no: a tool said no, a check found something. */
  no: 1,
  /** The command line itself could not be understood. */
  usage: 2,
  /** The call waits for a person, for the next attempt, or for a run somewhere else. */
  waiting: 14,
} as const

/** The command line could not be understood; the message says what to write instead. */
export class UsageError extends Error {
  /** The command whose help says more, where that is not the first word of the line. */
  readonly see: string | undefined

  constructor(message: string, see?: string) {
    super(message)
    this.see = see
  }
}

/** The exit code for anything thrown. */
export function exitCodeOf(error: unknown): number {
  return error instanceof UsageError ? EXIT.usage : EXIT_CODES[toAppError(error).kind]
}
