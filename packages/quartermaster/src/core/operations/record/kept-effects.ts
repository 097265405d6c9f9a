import {
  type EffectFacts,
  EffectFinding,
  type EffectOutline,
  isAppError,
  KeptEffect,
  type OperationRow,
} from '../../../contracts/index.ts'
import type { SealedPlace, Sealer } from '../../store/index.ts'
import { maskValues } from './mask.ts'

/** Effects as they come out of a record: whoever looks at one checks it first. */
export type OpenedEffects = readonly Readonly<Record<string, unknown>>[]

type EffectColumns = Pick<OperationRow, 'effects' | 'sealedEffects'>

/** What the row of an operation keeps of its effects: what they are known by may be as private as its arguments. */
export function sealEffects(id: string, effects: readonly KeptEffect[], sealer: Sealer): EffectColumns {
  return {
    effects: effects.map(outlineOf),
    sealedEffects: sealer.seal(JSON.stringify(effects), effectsOf(id)),
  }
}

/** The effects with all that it takes to look for them; none when that is forgotten. Throws when they cannot be opened. */
export function openEffects(
  { id, sealedEffects }: Pick<OperationRow, 'id' | 'sealedEffects'>,
  sealer: Sealer,
): OpenedEffects {
  if (sealedEffects === null) return []
  // Older stores kept them as they are. A sealed text never begins like a list.
  return JSON.parse(sealedEffects.startsWith('[') ? sealedEffects : sealer.open(sealedEffects, effectsOf(id)))
}

/** The effects as an operation is shown with; nothing where there are none. */
export function effectFactsOf(row: OperationRow, sealer: Sealer): EffectFacts[] | undefined {
  const kept = openedIfPossible(row, sealer)
  const outlines = row.effects.length > 0 ? row.effects : kept.map(outlineOf)
  if (outlines.length === 0) return undefined
  const findings = findingsOf(row)
  return outlines.map(outline => ({ ...outline, ...thingOf(outline, kept), ...findings(outline.name) }))
}

/** What is sealed with a key that is gone is no reason not to show the rest. */
function openedIfPossible(row: OperationRow, sealer: Sealer): readonly KeptEffect[] {
  try {
    return openEffects(row, sealer).flatMap(one => KeptEffect.safeParse(one).data ?? [])
  } catch (error) {
    if (isAppError(error)) return []
    throw error
  }
}

function outlineOf({ name, kind, baseline }: KeptEffect): EffectOutline {
  return { name, kind, before: baseline.seen }
}

function thingOf({ name }: EffectOutline, kept: readonly KeptEffect[]): Pick<EffectFacts, 'fields'> {
  const effect = kept.find(one => one.name === name)
  return effect ? { fields: maskValues(effect.fields) } : {}
}

/** What the record says about whether each is there: a call only succeeds when all are, and one in doubt tells what it saw. */
function findingsOf({ state, error }: OperationRow): (name: string) => Pick<EffectFacts, 'state' | 'reason'> {
  if (state === 'succeeded') return () => ({ state: 'verified' })
  const { data: found = [] } = EffectFinding.array().safeParse(error?.details?.effects)
  return name => {
    const finding = found.find(one => one.name === name)
    return finding ? { state: finding.state, reason: finding.reason } : {}
  }
}

function effectsOf(id: string): SealedPlace {
  return { table: 'operations', id, column: 'sealedEffects' }
}
