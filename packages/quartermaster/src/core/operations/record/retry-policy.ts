import { type AppError, ERRORS, type RetryPolicy, type Settings } from '../../../contracts/index.ts'
import type { Random } from '../../kernel/index.ts'
import type { EndState } from './operation-log.ts'

/** A run that failed. */
export interface FailedRun {
  readonly policy: RetryPolicy
  readonly mutates: boolean
  /** Whether it waits while its tool is disabled, whatever the policy. */
  readonly waits?: boolean
  readonly failure: AppError
  /** Whether the tool was run at all, this time. */
  readonly hasRun: boolean
  /** Runs begun so far, this one included. */
  readonly attempts: number
  /** When nobody expects it any more. */
  readonly giveUpAt: number
  readonly now: number
}

/** What comes after it. */
export type AfterFailure =
  /** It is over. */
  | { readonly kind: 'end'; readonly state: EndState }
  /** It is tried again then; when what it needs is there, where no time is given. */
  | { readonly kind: 'again'; readonly dueAt: number | undefined }

export interface RetryTerms {
  readonly settings: Pick<
    Settings,
    'retryAttempts' | 'retryFirstSeconds' | 'retryLongestSeconds' | 'retryMaxAgeMinutes'
  >
  readonly random: Random
}

/**
 * What becomes of an operation whose run failed. Only what may pass is tried again, only by tools that say so, and never for
 * ever: an operation always comes to an end that somebody is told of.
 */
export function afterFailure(run: FailedRun, terms: RetryTerms): AfterFailure {
  const { policy, failure, attempts, giveUpAt, now } = run
  const { retryAttempts } = terms.settings
  const isDisabled = failure.code === 'TOOL_DISABLED' && !run.hasRun
  const isRetried = policy !== 'manual' && run.mutates && mayPass(failure)
  if (!isRetried && !(isDisabled && run.waits)) return { kind: 'end', state: endOf(run) }
  // Its caller sends it again to the next process, which answers it at once.
  if (failure.code === 'STOPPING' && !run.hasRun) return { kind: 'end', state: 'failed' }
  if (now >= giveUpAt) return { kind: 'end', state: 'expired' }
  // Waiting for what is missing is no attempt; whoever brings it back brings the operation back. A tool that was run and met a
  // disabled one inside it has made an attempt: nothing that it needs itself is missing.
  if (isDisabled) return { kind: 'again', dueAt: undefined }
  if (attempts >= retryAttempts) return { kind: 'end', state: 'exhausted' }
  return { kind: 'again', dueAt: Math.round(now + pauseAfter(run, terms)) }
}

/**
 * Whether trying again can help, by the code alone. Whoever cancelled a call does not want it tried again, and a tool whose
 * result is not what it promises will promise no less the next time.
 */
function mayPass({ code, details }: AppError): boolean {
  // A run that was cut short, gave what nobody can go by, or ends its server each time, says so by what it was.
  if (code === 'CANCELLED' || FOR_GOOD.has(details?.because)) return false
  const { retry } = ERRORS[code]
  return retry === 'later' || retry === 'verifyFirst'
}

const FOR_GOOD: ReadonlySet<unknown> = new Set(['CANCELLED', 'OUTPUT_INVALID', 'UPSTREAM_ERROR'])

function endOf({ failure: { code }, hasRun }: FailedRun): EndState {
  if (code === 'CANCELLED') return 'cancelled'
  // What a tool was denied inside its run is its own failure.
  if (code === 'CONSENT_DENIED' && !hasRun) return 'denied'
  return code === 'OUTCOME_UNKNOWN' ? 'unknown' : 'failed'
}

/** Twice as long after every attempt, with a fifth of chance so that those that failed together do not come back together. */
function pauseAfter({ attempts, failure }: FailedRun, { settings, random }: RetryTerms): number {
  const { retryFirstSeconds, retryLongestSeconds } = settings
  const seconds = Math.min(retryFirstSeconds * 2 ** (attempts - 1), retryLongestSeconds)
  const jittered = seconds * 1000 * (0.8 + 0.4 * random())
  return Math.max(jittered, Math.min(askedPause(failure), settings.retryMaxAgeMinutes * 60_000))
}

/** Computed by a handler or an upstream from whatever a server said: only what is a time counts. */
function askedPause({ details }: AppError): number {
  const asked = details?.retryAfterMs
  return typeof asked === 'number' && Number.isFinite(asked) ? Math.max(asked, 0) : 0
}
