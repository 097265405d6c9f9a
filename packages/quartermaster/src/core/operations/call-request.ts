import type { Answer, CallAnswer, Progress, Question } from '../../contracts/index.ts'
import type { Seat } from '../agents/index.ts'

/** One call, as every adapter makes it. */
export interface CallRequest {
  readonly seat: Seat
  readonly tool: string
  readonly input: unknown
  readonly signal?: AbortSignal | undefined
  /** Ends the whole call, waiting included; the tool's own limit bounds the run. */
  readonly timeoutMs?: number | undefined
  /** Runs the tool although something it needs is missing. Consent and record still apply. */
  readonly evenIfDisabled?: boolean | undefined
  /** What a person allowed for exactly these arguments, given by an adapter that knows the person. */
  readonly consented?: ConsentedOnce | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly ask?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined
}

/** A person's answer for one call: these operations, with the arguments of this digest. */
export interface ConsentedOnce {
  readonly operations: readonly string[]
  readonly digest: string
}

/** The call path: one for every runtime. */
export interface Calls {
  /** Throws `AppError` when it could not be run; a tool that said no is an answer. */
  call(request: CallRequest): Promise<CallAnswer>
  /** Ends what is under way with `STOPPING` and takes nothing more. */
  stop(): void
}
