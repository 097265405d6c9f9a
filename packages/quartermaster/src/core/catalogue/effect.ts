import type { EffectSpec, JsonSchema, Sighting } from '../../contracts/index.ts'

/** The filled fields of an effect. */
export type EffectFields = Readonly<Record<string, string | number | boolean>>

/** A kind of effect as its author writes it, for what none of the ready-made kinds can see. */
export interface EffectDefinition {
  /** What the effects of tools call it by. */
  kind: string
  /** What such an effect says beside `name` and `kind`: texts with placeholders, all of them required. */
  fields?: readonly string[]
  /** Whether a thing that is there proves the effect, or one that is gone. `presence` when absent. */
  witness?: 'presence' | 'absence'
  /** Looks once, and changes nothing. Throwing means "could not tell", which is not the same as "absent". */
  look(fields: EffectFields, context: { readonly signal: AbortSignal }): EffectLook | Promise<EffectLook>
}

/** What a look of one's own may answer: whether it is there, or that with what tells it from what was there before. */
export type EffectLook = boolean | Sighting

/** As much of a kind of effect as loading definitions needs. */
export interface EffectChecker {
  /** What is wrong with a spec, a sentence each. */
  check(spec: EffectSpec, surroundings: { readonly input: JsonSchema | undefined }): string[]
}
