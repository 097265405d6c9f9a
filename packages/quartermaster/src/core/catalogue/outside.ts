import type { Probe } from './dependency.ts'

/** One request to a server elsewhere. No redirect is followed. */
export interface WebRequest {
  readonly method: string
  readonly url: URL
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Whether the owner has named the host: then it may be on this machine or in this network. */
  readonly isNamed: boolean
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** What came of it. A reason is a sentence of ours, without the words of a stranger. */
export type WebOutcome =
  | { readonly kind: 'answer'; readonly answer: WebAnswer }
  /** It leads where nobody may go. Nothing was sent. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** `no`: the server cannot have seen the whole request. */
  | { readonly kind: 'failed'; readonly reason: string; readonly wasSent: 'no' | 'maybe' }
  /** There is an answer, and more of it than may be: this is its beginning. */
  | { readonly kind: 'tooLong'; readonly answer: WebAnswer }
  /** There is an answer, and nobody here can read its body, which is left out. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly answer: WebAnswer }

export interface WebAnswer {
  readonly status: number
  /** By their names in lower case; one that occurs several times is a list with commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** When it was there, in milliseconds since 1970. */
  readonly receivedAt: number
}

/** Requests to servers elsewhere, behind the walls around this machine and network. */
export interface WebDesk {
  /** Rejects only with the reason of the signal. */
  send(request: WebRequest): Promise<WebOutcome>
}

/** What somebody else chose of what a program is given. */
export interface ForeignText {
  /** The parameter that it came by. */
  readonly parameter: string
  readonly text: string
  /** A value or an argument as a whole, what is read in lines, or something inside of a larger value. */
  readonly from: 'argument' | 'input' | 'inside'
}

/** A program and what it is given. There is no shell. */
export interface ProgramRequest {
  readonly program: string
  readonly args: readonly string[]
  /** What somebody else chose of its arguments and its input, whole and in parts, to be looked through for paths to the data folder. */
  readonly foreign: readonly ForeignText[]
  /** In the project folder, which it counts from. */
  readonly cwd: string
  /** Beside the few variables that every program gets. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | undefined
  /** Of all that it prints; it is ended at more. */
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export type ProgramOutcome =
  | {
      readonly kind: 'ended'
      /** `null` when it was killed. */
      readonly code: number | null
      readonly stdout: Uint8Array
      readonly stderr: Uint8Array
      /** Whether it printed too much, and was ended for it. */
      readonly isCut: boolean
    }
  /** It was not started: for where it would run, or what it would be given. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** It could not be started. */
  | { readonly kind: 'failed'; readonly reason: string }

/**
 * Programs on this machine. None of them, and nothing they start, outlives its run: known are those in the group of the
 * program and those that carry its mark in their environment. Whoever leaves both on purpose is not found.
 */
export interface ProgramDesk {
  /** Rejects with the reason of the signal, when nothing of it runs any more. */
  run(request: ProgramRequest): Promise<ProgramOutcome>
  /** Looks whether a program is there. */
  probe(program: string): Probe
  /** A variable of our own environment, for programs that are to have it. */
  variable(name: string): string | undefined
}
