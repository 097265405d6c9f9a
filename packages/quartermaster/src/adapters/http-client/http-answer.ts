import type { CancelSignal } from '../../core/kernel/index.ts'

export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  readonly signal: CancelSignal
  /** How long the first line of the answer may take once the request is out; for ever when absent. */
  readonly answerMs?: number | undefined
  /** There is a connection, and the request goes out: from here on the server may see it. */
  onOut?: (() => void) | undefined
}

/** An answer whose body is not yet read. Whoever gets it reads or destroys that. */
export interface HttpAnswer {
  readonly status: number
  /** By their names in lower case; a header that occurs several times is a list. */
  readonly headers: HttpHeaders
  /** Decompressed. */
  readonly body: HttpBody
}

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The bytes of an answer, handed over as they come. */
export interface HttpBody {
  /** Once. What is there already is handed over before it returns. */
  read(reader: BodyReader): void
  pause(): void
  resume(): void
  /** Ends the exchange, if it has not ended. The reader hears no more of it. */
  destroy(): void
}

/** Hears the end or the failure, and nothing after it. */
export interface BodyReader {
  onData(chunk: Buffer): void
  onEnd(): void
  onFail(cause: Error): void
}

export function isGood({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300
}

/** A header's value; what occurs several times is a list with commas (RFC 9110 §5.3). */
export function headerOf({ headers }: HttpAnswer, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'object' ? value.join(', ') : value
}

/** There is no answer. A `TypeError`, as every failure of a fetch is. */
export class HttpFailure extends TypeError {
  /** `no`: the server cannot have seen the whole request. */
  readonly wasSent: 'no' | 'maybe'
  /** The machine is there and says that no server is. Other failures may be of this request alone. */
  readonly isNobodyThere: boolean
  /** What may be the words of a stranger, for people alone. */
  readonly said: string | undefined
  constructor(message: string, { wasSent, said, cause }: HttpFailureFacts) {
    super(message, { cause })
    this.name = 'HttpFailure'
    this.wasSent = wasSent
    this.said = said
    this.isNobodyThere = cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  }
}

interface HttpFailureFacts {
  readonly wasSent: 'no' | 'maybe'
  readonly said?: string | undefined
  readonly cause: unknown
}
