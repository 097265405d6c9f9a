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
  /** Breaks off what is still being looked at; that is then unclear. */
  readonly signal?: CancelSignal | undefined
}

/** The effects of one call, filled. Throws `INPUT_INVALID` or `DEFINITION_INVALID`. */
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
 * Looks before the run, and returns what the record keeps. What cannot be looked at now is kept as unclear. Throws
 * `INPUT_INVALID` where it could never be looked at: whatever the run did, it would stay unknown.
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
  const hopeless = kept.find(({ baseline }) => baseline.seen === 'unclear' && baseline.isLasting)
  if (!hopeless) return kept
  const { name, baseline } = hopeless
  throw new AppError('INPUT_INVALID', `The effect "${name}" could never be looked for. ${baseline.reason ?? ''}`.trim())
}

/** Looks now, at everything at once, and judges by what was seen before the run. Never throws. */
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

/** How long one look may take. */
export const LOOK_MS = 5_000

async function verifyOne(
  row: Readonly<Record<string, unknown>>,
  kinds: EffectKinds,
  options: LookOptions,
): Promise<EffectFinding> {
  const { data: effect } = KeptEffect.safeParse(row)
  if (!effect) {
    const reason = 'What the record keeps of it cannot be read.'
    return { name: String(row.name), state: 'indeterminate', reason, seen: 'unclear' }
  }
  const now = await lookOnce(effect, kinds, options)
  const { state, reason } = judgeEffect(kinds.get(effect.kind)?.witness ?? 'presence', effect.baseline, now)
  return { name: effect.name, state, reason, seen: now.seen }
}

/** Without effects nothing was looked at, so that nothing is known. */
function verdictOf(effects: readonly EffectFinding[]): EffectReport['verdict'] {
  const has = (state: EffectFinding['state']) => effects.some(effect => effect.state === state)
  if (effects.length === 0 || has('indeterminate')) return 'indeterminate'
  if (!has('verified')) return 'absent'
  return has('absent') ? 'partial' : 'verified'
}

/** One look, with its time. A kind that does not listen to its signal is left to itself. */
function lookOnce(effect: ConcreteEffect, kinds: EffectKinds, { clock, signal }: LookOptions): Promise<Observation> {
  const kind = kinds.get(effect.kind)
  if (!kind) return Promise.resolve({ seen: 'unclear', reason: unknownKind(effect) })
  if (signal?.aborted) return Promise.resolve(BROKEN_OFF)
  return new Promise(resolve => {
    const controller = new AbortController()
    const end = (seen: Observation) => {
      cancelTimer()
      signal?.removeEventListener('abort', onAbort)
      resolve(seen)
      // A look still under way may stop.
      controller.abort()
    }
    const onAbort = () => end(BROKEN_OFF)
    const cancelTimer = clock.after(LOOK_MS, () => end(TOO_LATE))
    signal?.addEventListener('abort', onAbort, { once: true })
    ask(kind, effect, controller.signal).then(end, error => end({ seen: 'unclear', reason: failed(error) }))
  })
}

const BROKEN_OFF: Observation = { seen: 'unclear', reason: 'Looking was broken off.' }
const TOO_LATE: Observation = { seen: 'unclear', reason: `Looking took longer than ${LOOK_MS / 1000} seconds.` }

/** What a kind answers may come from unchecked code. */
async function ask(kind: EffectKind, effect: ConcreteEffect, signal: AbortSignal): Promise<Observation> {
  const { seen, mark, count, reason, isLasting } = await kind.look(effect, { signal })
  const inShort = typeof reason === 'string' ? brief(reason) : reason
  const told = Observation.safeParse({ seen, mark, count, reason: inShort, isLasting })
  return told.success ? told.data : { seen: 'unclear', reason: `"${kind.kind}" did not say whether it is there.` }
}

function failed(error: unknown): string {
  return brief(`Looking failed: ${messageOf(error)}`)
}

/** A reason is kept with the record, and read. */
function brief(reason: string): string {
  return reason.length > 500 ? `${reason.slice(0, 499)}…` : reason
}

function unknownKind({ name, kind }: { name: string; kind: string }): string {
  return `The effect "${name}" has the kind "${kind}", which nothing here can verify.`
}

type Judgement = Pick<EffectFinding, 'state' | 'reason'>

/** What two looks, before the run and now, say together. */
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

/** Something was removed meanwhile. That is a change, but not one the run would have made. */
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

/** The kind that a capability brings, as the verifier uses it. */
export function customKind(definition: EffectDefinition): EffectKind {
  const { kind, fields = [], witness } = definition
  const runAll = <T>(value: T) => Object.fromEntries(fields.map(field => [field, value]))
  return createTemplatedKind<EffectFields>({
    kind,
    ...(witness && { witness }),
    schema: z.strictObject(runAll(z.union([z.string(), z.number(), z.boolean()]))),
    templates: runAll<TemplateRule>({ keepsType: true }),
    async look(filled, context) {
      const found = await definition.look(filled, context)
      return typeof found === 'boolean' ? { seen: found ? 'there' : 'absent' } : found
    },
  })
}

/** All kinds that a tool's effects may have: the ready-made ones, and those of its capability. */
export function kindsFor(kinds: EffectKinds, { effectKinds }: Pick<Tool, 'effectKinds'>): EffectKinds {
  if (effectKinds.length === 0) return kinds
  return new Map([...effectKinds.map(one => [one.kind, customKind(one)] as const), ...kinds])
}
