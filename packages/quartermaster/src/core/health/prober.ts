import { messageOf } from '../../contracts/index.ts'
import type { ProbeFunction, ProbeVerdict } from '../catalogue/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { ProbeOutcome } from './record.ts'

export interface ProbeOptions {
  readonly probe: ProbeFunction
  readonly timeoutMs: number
  readonly clock: Clock
  readonly isRequested: boolean
  readonly isAwaited: boolean
  hasSecret(name: string): boolean
}

/** Runs one probe with an enforced deadline. It never throws and never takes longer, whatever the probe does. */
export async function runProbe({ probe, timeoutMs, clock, ...told }: ProbeOptions): Promise<ProbeOutcome> {
  const started = clock.now()
  const controller = new AbortController()
  const silent = `It did not answer within ${timeoutMs} ms.`
  let cancel = () => {}
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.after(timeoutMs, () => {
      const error = new Error(silent)
      reject(error)
      controller.abort(error)
    })
  })
  const at = () => ({ at: clock.now(), durationMs: clock.now() - started })
  try {
    const answer = await Promise.race([Promise.resolve(probe({ signal: controller.signal, ...told })), deadline])
    const verdict = toVerdict(answer)
    return verdict
      ? { kind: 'verdict', verdict, ...at() }
      : { kind: 'unknown', reason: 'Its probe gave no verdict.', ...at() }
  } catch (error) {
    const reason = controller.signal.aborted ? silent : `Its probe failed: ${messageOf(error)}`.slice(0, REASON_LIMIT)
    return { kind: 'unknown', reason, ...at() }
  } finally {
    cancel()
  }
}

/** Long reasons end up in every list and every refused call. */
const REASON_LIMIT = 500

/** What a probe said, in order: its author may have left the reason out or put anything there. */
function toVerdict(answer: unknown): ProbeVerdict | undefined {
  const given = (typeof answer === 'object' && answer !== null ? answer : { up: answer }) as {
    [K in 'up' | 'reason' | 'recovering' | 'pending' | 'final']?: unknown
  }
  if (typeof given.up !== 'boolean') return undefined
  const reason =
    typeof given.reason === 'string' && given.reason !== '' ? given.reason.slice(0, REASON_LIMIT) : undefined
  if (given.up) return reason === undefined ? { up: true } : { up: true, reason }
  const verdict = { up: false as const, reason: reason ?? 'Its probe said no.' }
  const recovering = given.recovering === true && { recovering: true }
  const pending = given.pending === true && { pending: true }
  const final = given.final === true && { final: true }
  return { ...verdict, ...recovering, ...pending, ...final }
}
