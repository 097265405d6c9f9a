import { messageOf } from '../../contracts/index.ts'
import type { ProbeFunction } from '../catalogue/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { ProbeOutcome } from './record.ts'

export interface ProbeOptions {
  readonly probe: ProbeFunction
  readonly timeoutMs: number
  readonly clock: Clock
  hasSecret(name: string): boolean
}

/** Runs one probe with an enforced deadline. It never throws and never takes longer, whatever the probe does. */
export async function runProbe({ probe, timeoutMs, clock, hasSecret }: ProbeOptions): Promise<ProbeOutcome> {
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
    const answer = await Promise.race([Promise.resolve(probe({ signal: controller.signal, hasSecret })), deadline])
    if (answer === true || answer === false) return { kind: 'verdict', verdict: plainVerdict(answer), ...at() }
    if (typeof answer?.up === 'boolean') return { kind: 'verdict', verdict: answer, ...at() }
    return { kind: 'unknown', reason: 'Its probe gave no verdict.', ...at() }
  } catch (error) {
    const reason = controller.signal.aborted ? silent : `Its probe failed: ${messageOf(error)}`
    return { kind: 'unknown', reason, ...at() }
  } finally {
    cancel()
  }
}

function plainVerdict(up: boolean): { up: true } | { up: false; reason: string } {
  return up ? { up } : { up, reason: 'Its probe said no.' }
}
