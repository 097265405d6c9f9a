import {
  type Answer,
  AppError,
  type CallAnswer,
  type OperationRow,
  type Question,
  type QuestionKind,
  type TraceContext,
  WHEN_DISABLED_META,
  WhenDisabled,
} from '../../../contracts/index.ts'
import type { AgentSession, Grant } from '../../agents/index.ts'
import type { CancelSignal } from '../../kernel/index.ts'
import type { ConsentedOnce } from '../consent/grants.ts'
import type { CallListeners } from '../elicitation/elicitation.ts'
import type { IsDelivered } from '../record/delivery-tracker.ts'
import type { RunningCalls } from '../record/operation-admin.ts'
import type { OpenedEffects } from '../record/stored-results.ts'

/** One call, as every adapter makes it. */
export interface CallRequest {
  readonly session: AgentSession
  readonly tool: string
  readonly input: unknown
  readonly signal?: CancelSignal | undefined
  /** Whether the caller got the answer; a caller without a signal is assumed to. */
  readonly isDelivered?: IsDelivered | undefined
  /** Ends the whole call, waiting included; the tool's own limit bounds the run. */
  readonly timeoutMs?: number | undefined
  /** What the call of a disabled tool does; it fails when absent. Consent and record apply to all. */
  readonly whenDisabled?: WhenDisabled | undefined
  /** What a person allowed for exactly these arguments, given by an adapter that knows the person. */
  readonly consented?: ConsentedOnce | undefined
  /** What happens to a call that is not allowed yet: it waits for a person, or is refused at once with all that is missing. */
  readonly unallowed?: 'wait' | 'refuse' | undefined
  /** Writes the call down whatever the tool, and keeps how it ended for this long, also over a restart. */
  readonly asTask?: { readonly ttlMs: number } | undefined
  /** The caller's own name for this call: a repeat under it gets the first answer, and nothing is done twice. */
  readonly idempotencyKey?: string | undefined
  /** Told once the record is durable, right before the tool runs: from then on the id can be handed out. */
  readonly onRecorded?: ((operationId: string) => void) | undefined
  readonly onProgress?: CallListeners['onProgress']
  readonly ask?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined
  /** What `ask` can get an answer to; everything when absent. */
  readonly canAnswer?: ((kind: QuestionKind) => boolean) | undefined
  /** Which of the caller's clients makes it: each has its own person. A call without a client shares nothing with others. */
  readonly client?: string | undefined
  readonly onLog?: CallListeners['onLog']
  /** Whose trace it belongs to. */
  readonly trace?: TraceContext | undefined
}

/** A call that its client comes back for, after the process that asked it something is gone. */
export interface ResumeFromRecordRequest extends Pick<CallRequest, 'session' | 'tool' | 'input' | 'isDelivered'> {
  readonly operationId: string
  /** What the person in front of the client said when asked to allow this call, and when that was asked. */
  readonly answered: { readonly answer: Answer; readonly askedAt: number } | undefined
}

/** What an operation that waited is run with. */
export interface ResumeRequest extends Pick<CallRequest, 'session' | 'input'> {
  /** What earlier runs were to leave behind; empty when there was none. */
  readonly effects: OpenedEffects
}

/** The call path: one for every runtime. */
export interface Calls extends RunningCalls {
  /** Throws `AppError` when it could not be run; a tool that said no is an answer. */
  call(request: CallRequest): Promise<CallAnswer>
  /**
   * Connects the unit that may have this tool and has not been seen yet, such as a server that waits for its start or code that
   * is still read, and waits for it within the call's time. Nothing to wait for where the tool is there, or no unit may have
   * it.
   */
  ensureConnected(request: Pick<CallRequest, 'session' | 'tool' | 'timeoutMs' | 'signal'>): Promise<void> | undefined
  /** The tool that such a call would really run. Throws as the call would when there is none, or none to be found. */
  target(request: Pick<CallRequest, 'session' | 'tool' | 'input'>): Grant
  /** Goes on with a call that is on record, for a client whose exchange is gone with its process. Throws `CURSOR_GONE`. */
  resumeFromRecord(request: ResumeFromRecordRequest): Promise<CallAnswer>
  /** Runs an operation that waited, along the same path, and writes down what became of it. It was leased for this process. */
  resume(operation: OperationRow, request: ResumeRequest): Promise<void>
  /**
   * Takes no more calls from outside, and ends those that only wait with `STOPPING` or their handle. Resolves when the
   * handlers that run have ended; the calls that these make still run.
   */
  drain(): Promise<void>
  /** How many handlers run now, those of nested calls not counted. */
  running(): number
  /** Ends what is under way with `STOPPING` and takes nothing more. */
  stop(): void
}

/** What an agent's call gave as `whenDisabled`. Running a disabled tool takes the word of the agent's file. */
export function checkWhenDisabled(
  given: unknown,
  session: Pick<AgentSession, 'agent' | 'caller'>,
): WhenDisabled | undefined {
  if (given === undefined) return undefined
  const { data } = WhenDisabled.safeParse(given)
  if (data === undefined)
    throw new AppError('INPUT_INVALID', `"${WHEN_DISABLED_META}" must be "fail", "wait" or "run".`)
  if (data !== 'run' || session.agent()?.runDisabled === true) return data
  const message = `"${session.caller.name}" may not run disabled tools. Its file allows that with "runDisabled": true.`
  throw new AppError('REQUEST_REFUSED', message)
}
