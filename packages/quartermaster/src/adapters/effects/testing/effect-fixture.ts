import type { EffectReport, EffectSpec, Observation } from '../../../contracts/index.ts'
import {
  concreteEffects,
  type EffectKind,
  type EffectValues,
  takeBaseline,
  verifyEffects,
} from '../../../core/operations/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createEffectKinds, type EffectKindsOptions } from '../index.ts'

/** The ready-made kinds on a folder, and the way from a spec to a verdict. */
interface EffectDesk {
  kind(name: string): EffectKind
  look(spec: Omit<EffectSpec, 'name'>, values?: Partial<EffectValues>): Promise<Observation>
  /** Looks, does the work, and judges. */
  verifyAround(
    spec: Omit<EffectSpec, 'name'>,
    work: () => unknown,
    values?: Partial<EffectValues>,
  ): Promise<EffectReport['effects'][number]>
}

const SIGNAL = new AbortController().signal

export function effectFixture(
  options: Pick<EffectKindsOptions, 'projectDir'> & Partial<EffectKindsOptions>,
): EffectDesk {
  const kinds = createEffectKinds({ connections: { get: () => undefined }, ...options })
  const clock = createFakeClock()
  const concrete = (spec: Omit<EffectSpec, 'name'>, values: Partial<EffectValues> = {}) =>
    concreteEffects(
      [{ name: 'one', ...spec } as EffectSpec],
      { input: {}, config: {}, operationId: 'op_1', ...values },
      kinds,
    )

  function kind(name: string): EffectKind {
    const found = kinds.get(name)
    if (!found) throw new Error(`there is no kind "${name}"`)
    return found
  }

  return {
    kind,
    async look(spec, values) {
      const [effect] = concrete(spec, values)
      if (!effect) throw new Error('there is no effect')
      return kind(effect.kind).look(effect, { signal: SIGNAL })
    },
    async verifyAround(spec, work, values) {
      const rows = await takeBaseline(concrete(spec, values), kinds, { clock })
      await work()
      const kept = JSON.parse(JSON.stringify(rows)) as Record<string, unknown>[]
      const { effects } = await verifyEffects(kept, kinds, { clock })
      if (!effects[0]) throw new Error('there is no finding')
      return effects[0]
    },
  }
}
