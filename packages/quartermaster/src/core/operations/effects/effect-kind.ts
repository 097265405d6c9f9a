import type { EffectSpec, JsonSchema, Sighting } from '../../../contracts/index.ts'

/** What the placeholders of a spec are filled with. */
export interface EffectValues {
  /** The checked input of the call. */
  readonly input: unknown
  /** The capability's configuration for the agent that calls. */
  readonly config: unknown
  readonly operationId: string
}

/** A spec whose placeholders are filled: plain JSON, to be kept until somebody looks again. */
export interface ConcreteEffect {
  readonly name: string
  readonly kind: string
  /** What the kind needs to look, by the names of the spec's fields. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** What a spec is checked against when definitions load. */
export interface EffectSurroundings {
  /** The input of the tool that declares the effect. */
  readonly input?: JsonSchema | undefined
}

/** One kind of trace that calls leave outside, and how to look for it. It only ever looks. */
export interface EffectKind {
  readonly kind: string
  /** The fields of a spec beside `name` and `kind`. */
  readonly fields: readonly string[]
  /** Whether a thing that is there proves the effect, or one that is gone. */
  readonly witness: 'presence' | 'absence'
  /** What is wrong with a spec, a sentence each; nothing when it can be used. */
  check(spec: EffectSpec, surroundings?: EffectSurroundings): string[]
  /** Fills the placeholders. Throws `INPUT_INVALID` or `DEFINITION_INVALID` and names the one that cannot be filled. */
  concrete(spec: EffectSpec, values: EffectValues): ConcreteEffect
  /** Looks once. Throwing means "could not tell", which is not the same as "absent". */
  look(effect: ConcreteEffect, options: { readonly signal: AbortSignal }): Promise<Sighting>
}
