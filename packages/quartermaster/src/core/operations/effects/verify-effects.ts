import { z } from 'zod'
import {
  AppError,
  type EffectFinding,
  type EffectReport,
  type EffectSpec,
  KeptEffect,
  messageOf,
  Observation,
} from '../../../contracts/index.ts'
import { type EffectDefinition, type EffectFields, type Tool } from '../../catalogue/index.ts'
import { type CancelSignal, type Clock } from '../../kernel/index.ts'
import {
  type ConcreteEffect,
  createTemplatedKind,
  type EffectKind,
  type EffectValues,
  type TemplateRule,
} from './effect-kinds.ts'

export type EffectKinds = ReadonlyMap<string, EffectKind>

export interface LookOptions {
  readonly clock: Clock
  /** Ends observations that are still running; their effects are then unclear. */
  readonly signal?: CancelSignal | undefined
}

/** The effects of one call, with placeholders filled. Throws `INPUT_INVALID` or `DEFINITION_INVALID`. */
export function concreteEffects(
  specs: readonly EffectSpec[],
  values: EffectValues,
  kinds: EffectKinds,
): ConcreteEffect[] {
  return specs.map(spec => {
    const kind = kinds.get(spec.kind)
    if (!kind) throw new AppError('DEFINITION_INVALID', unknownKind(spec))
    return kind.concrete(spec, values)
  })
}

/**
 * Observes the effects before the run. An effect that cannot be observed now is recorded as unclear. Throws `INPUT_INVALID` for one
 * that can never be observed: the outcome of the run would always be unknown.
 */
export async function takeBaseline(
  effects: readonly ConcreteEffect[],
  kinds: EffectKinds,
  options: LookOptions,
): Promise<KeptEffect[]> {
  const kept = await Promise.all(
    effects.map(async ({ name, kind, fields }) => ({
      name,
      kind,
      fields,
      baseline: await lookOnce({ name, kind, fields }, kinds, options),
    })),
  )
  const unobservable = kept.find(({ baseline }) => baseline.seen === 'unclear' && baseline.isLasting)
  if (!unobservable) return kept
  const { name, baseline } = unobservable
  throw new AppError('INPUT_INVALID', `The effect "${name}" could never be looked for. ${baseline.reason ?? ''}`.trim())
}

/** Observes all effects at once and compares them with the baseline from before the run. Never throws. */
export async function verifyEffects(
  kept: readonly Readonly<Record<string, unknown>>[],
  kinds: EffectKinds,
  options: LookOptions,
): Promise<EffectReport> {
  const effects = await Promise.all(kept.map(one => verifyOne(one, kinds, options)))
  return { verdict: verdictOf(effects), effects }
}

/** The specs of the effects that are not verified. */
export function missingOf({ effects }: EffectReport, specs: readonly EffectSpec[]): EffectSpec[] {
  const verified = new Set(effects.filter(({ state }) => state === 'verified').map(({ name }) => name))
  return specs.filter(({ name }) => !verified.has(name))
}

/** How long one observation may take. */
export const LOOK_MS = 5_000

async function verifyOne(
  row: Readonly<Record<string, unknown>>,
  kinds: EffectKinds,
  options: LookOptions,
): Promise<EffectFinding> {
  const { data: effect } = KeptEffect.safeParse(row)
  if (!effect) {
    const reason = 'Its record cannot be read.'
    return { name: String(row.name), state: 'indeterminate', reason, seen: 'unclear' }
  }
  const now = await lookOnce(effect, kinds, options)
  const { state, reason } = judgeEffect(kinds.get(effect.kind)?.witness ?? 'presence', effect.baseline, now)
  return { name: effect.name, state, reason, seen: now.seen }
}

function verdictOf(effects: readonly EffectFinding[]): EffectReport['verdict'] {
  const has = (state: EffectFinding['state']) => effects.some(effect => effect.state === state)
  if (effects.length === 0 || has('indeterminate')) return 'indeterminate'
  if (!has('verified')) return 'absent'
  return has('absent') ? 'partial' : 'verified'
}

/** One observation, with its timeout. It is not awaited longer, even if the kind ignores its signal. */
function lookOnce(effect: ConcreteEffect, kinds: EffectKinds, { clock, signal }: LookOptions): Promise<Observation> {
  const kind = kinds.get(effect.kind)
  if (!kind) return Promise.resolve({ seen: 'unclear', reason: unknownKind(effect) })
  if (signal?.aborted) return Promise.resolve(ABORTED)
  return new Promise(resolve => {
    const controller = new AbortController()
    const end = (seen: Observation) => {
      cancelTimer()
      signal?.removeEventListener('abort', onAbort)
      resolve(seen)
      controller.abort()
    }
    const onAbort = () => end(ABORTED)
    const cancelTimer = clock.after(LOOK_MS, () => end(TOO_LATE))
    signal?.addEventListener('abort', onAbort, { once: true })
    observe(kind, effect, controller.signal).then(end, error =>
      end({ seen: 'unclear', reason: brief(`Looking failed: ${messageOf(error)}`) }),
    )
  })
}

const ABORTED: Observation = { seen: 'unclear', reason: 'Looking was broken off.' }
const TOO_LATE: Observation = { seen: 'unclear', reason: `Looking took longer than ${LOOK_MS / 1000} seconds.` }

/** The answer may come from unchecked code. */
async function observe(kind: EffectKind, effect: ConcreteEffect, signal: AbortSignal): Promise<Observation> {
  const { seen, mark, count, reason, isLasting } = await kind.look(effect, { signal })
  const shortReason = typeof reason === 'string' ? brief(reason) : reason
  const parsed = Observation.safeParse({ seen, mark, count, reason: shortReason, isLasting })
  return parsed.success ? parsed.data : { seen: 'unclear', reason: `"${kind.kind}" did not say whether it is there.` }
}

/** A reason is stored, and shown. */
function brief(reason: string): string {
  return reason.length > 500 ? `${reason.slice(0, 499)}…` : reason
}

function unknownKind({ name, kind }: { name: string; kind: string }): string {
  return `The effect "${name}" has the kind "${kind}", which nothing here can verify.`
}

type Judgement = Pick<EffectFinding, 'state' | 'reason'>

/** Compares the observation with the one before the run. */
function judgeEffect(witness: EffectKind['witness'], before: Observation, now: Observation): Judgement {
  if (now.seen === 'unclear') return unsure(now.reason ?? 'It could not be looked at.')
  return witness === 'presence' ? judgePresence(before, now) : judgeAbsence(before, now)
}

function judgePresence(before: Observation, now: Observation): Judgement {
  if (now.seen === 'absent') return { state: 'absent', reason: now.reason ?? 'It is not there.' }
  if (before.seen === 'absent') return { state: 'verified', reason: 'It is there, and was not before the run.' }
  if (before.seen === 'unclear')
    return unsure(`It is there, but it is not known whether it was before the run. ${before.reason ?? ''}`.trim())
  if (before.mark === now.mark || isFewer(now, before))
    return { state: 'absent', reason: 'It was there before the run already, and nothing was added to it.' }
  if (before.mark === undefined || now.mark === undefined)
    return unsure('It is there and was before the run, and nothing tells the two apart.')
  return { state: 'verified', reason: 'It is there, and not as it was before the run.' }
}

/** Something was removed meanwhile: a change, but not the effect of the run. */
function isFewer(now: Observation, before: Observation): boolean {
  return now.count !== undefined && before.count !== undefined && now.count < before.count
}

function judgeAbsence(before: Observation, now: Observation): Judgement {
  if (now.seen === 'there') return { state: 'absent', reason: now.reason ?? 'It is still there.' }
  if (before.seen === 'there') return { state: 'verified', reason: 'It was there before the run, and is gone.' }
  if (before.seen === 'absent') return unsure('It was gone before the run already, so that it is gone proves nothing.')
  return unsure(`It is gone, but it is not known whether it was there before the run. ${before.reason ?? ''}`.trim())
}

function unsure(reason: string): Judgement {
  return { state: 'indeterminate', reason }
}

/** A kind that a capability defines. */
export function customKind(definition: EffectDefinition): EffectKind {
  const { kind, fields = [], witness } = definition
  const forAll = <T>(value: T) => Object.fromEntries(fields.map(field => [field, value]))
  return createTemplatedKind<EffectFields>({
    kind,
    ...(witness && { witness }),
    schema: z.strictObject(forAll(z.union([z.string(), z.number(), z.boolean()]))),
    templates: forAll<TemplateRule>({ keepsType: true }),
    async look(filled, context) {
      const found = await definition.look(filled, context)
      return typeof found === 'boolean' ? { seen: found ? 'there' : 'absent' } : found
    },
  })
}

/** The built-in kinds and those of the tool's capability. */
export function kindsFor(kinds: EffectKinds, { effectKinds }: Pick<Tool, 'effectKinds'>): EffectKinds {
  if (effectKinds.length === 0) return kinds
  return new Map([...effectKinds.map(one => [one.kind, customKind(one)] as const), ...kinds])
}
