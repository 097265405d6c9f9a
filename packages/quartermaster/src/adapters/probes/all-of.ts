import type { Probe, ProbeContext, ProbeVerdict } from '../../core/catalogue/index.ts'
import { onAbort } from './abort.ts'
import { down, UP } from './verdict.ts'

/** Looks at several things at once; all must be up. The first that is not says why, and ends the others. */
export function allOf(...probes: readonly Probe[]): Probe {
  return {
    describe: { kind: 'allOf', probes: probes.map(probe => probe.describe) },
    async run(context) {
      const controller = new AbortController()
      const forget = onAbort(context.signal, () => controller.abort(context.signal.reason))
      const inner = { ...context, signal: controller.signal, hasSecret: (name: string) => context.hasSecret(name) }
      try {
        return await firstDown(probes.map(probe => verdictOf(probe, inner)))
      } finally {
        forget()
        controller.abort()
      }
    },
  }
}

async function verdictOf(probe: Probe, context: ProbeContext): Promise<ProbeVerdict> {
  const verdict = await probe.run(context)
  if (typeof verdict !== 'boolean') return verdict
  return verdict ? UP : down(`The ${probe.describe.kind} probe said no.`)
}

/** A definite no outweighs one that could not tell, so a failure counts only when no other answer is left to come. */
function firstDown(verdicts: readonly Promise<ProbeVerdict>[]): Promise<ProbeVerdict> {
  return new Promise((resolve, reject) => {
    const settled = verdicts.map(verdict => verdict.then(answer => (answer.up ? undefined : resolve(answer))))
    Promise.allSettled(settled).then(outcomes => {
      const failed = outcomes.find(outcome => outcome.status === 'rejected')
      if (failed) reject(failed.reason)
      else resolve(UP)
    }, reject)
  })
}
