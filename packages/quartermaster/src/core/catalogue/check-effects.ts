import { z } from 'zod'
import { type EffectSpec, type JsonSchema, Name } from '../../contracts/index.ts'
import { didYouMean } from '../kernel/index.ts'
import type { Bundle, UnitPlace } from './check-place.ts'
import type { EffectChecker, EffectDefinition } from './effect.ts'

/** Each is looked at before and after every run, all at once. */
const MOST_EFFECTS = 20

interface EffectPlace {
  readonly subject: string
  readonly input: JsonSchema | undefined
  readonly bundle: Bundle
  readonly place: UnitPlace
}

/** Checks the effects of a tool: that something can look for each, and that what it says makes sense there. */
export function checkEffects(effects: readonly EffectSpec[], { subject, input, bundle, place }: EffectPlace): void {
  const { problems, deps } = place
  if (effects.length > MOST_EFFECTS) problems.add(subject, 'effects', `may be at most ${MOST_EFFECTS}`)
  const names = new Set<string>()
  for (const spec of effects) {
    if (names.has(spec.name)) problems.add(subject, 'effects', `has two with the name "${spec.name}"`)
    names.add(spec.name)
    const own = bundle.effectKinds.find(({ kind }) => kind === spec.kind)
    const kind: EffectChecker | undefined = deps.effectKinds.get(spec.kind) ?? (own && deps.ownEffectKind(own))
    if (kind) for (const problem of kind.check(spec, { input })) problems.add(subject, `effects.${spec.name}`, problem)
    else problems.add(subject, 'effects', unknownKind(spec.kind, [...deps.effectKinds.keys(), ...kindsOf(bundle)]))
  }
}

/** Every effect has these already. */
const RESERVED = new Set(['name', 'kind'])

const Facts = z.strictObject({
  kind: Name,
  fields: z.array(Name.refine(name => !RESERVED.has(name), 'must not be "name" or "kind"')).optional(),
  witness: z.enum(['presence', 'absence']).optional(),
  look: z.custom(look => typeof look === 'function', 'must be a function'),
})

/** Checks the kinds of effects that a capability brings. */
export function checkEffectKinds(definitions: readonly EffectDefinition[], subject: string, place: UnitPlace): void {
  const { problems, deps } = place
  const kinds = new Set<string>()
  for (const definition of definitions) {
    const facts = parsed(definition)
    if (!facts.success) problems.addIssues(subject, 'effectKinds', facts.error.issues)
    else if (deps.effectKinds.has(facts.data.kind))
      problems.add(subject, 'effectKinds', `has "${facts.data.kind}", which is a kind that comes with Quartermaster`)
    else if (kinds.has(facts.data.kind)) problems.add(subject, 'effectKinds', `has "${facts.data.kind}" twice`)
    else kinds.add(facts.data.kind)
  }
}

/** The brand is no field of it. */
function parsed(definition: EffectDefinition) {
  return Facts.safeParse({ ...definition })
}

function kindsOf({ effectKinds }: Bundle): string[] {
  return effectKinds.map(({ kind }) => kind)
}

function unknownKind(kind: string, known: readonly string[]): string {
  return `has the kind "${kind}", which nothing here can verify.${didYouMean(kind, known)}`
}
