import { z } from 'zod'

/** What one look at an effect found. */
export const Sighting = z.object({
  /** Whether the thing is as the effect says, is not, or could not be looked at. */
  seen: z.enum(['there', 'absent', 'unclear']),
  /** Tells this thing from what was there before: a hash, a count. */
  mark: z.string().max(1_000).optional(),
  /** How many there are, where they can be counted; fewer than before are nothing new. */
  count: z.number().optional(),
  /** Why it is absent or unclear, as a sentence. */
  reason: z.string().optional(),
  /** Of an unclear one: whether no later look would see more, as long as the thing itself is not another. */
  isLasting: z.boolean().optional(),
})
export type Sighting = z.infer<typeof Sighting>

/** An effect as an operation's record keeps it: what to look for, and what was seen of it before the run. */
export const KeptEffect = z.object({
  name: z.string(),
  kind: z.string(),
  /** What the kind needs to look, by the names of the spec's fields. */
  fields: z.record(z.string(), z.unknown()),
  baseline: Sighting,
})
export type KeptEffect = z.infer<typeof KeptEffect>

/** What anybody may know of a kept effect, also when the rest of it is forgotten. */
export const EffectOutline = z.object({
  name: z.string(),
  kind: z.string(),
  /** What was seen of it before the run. */
  before: Sighting.shape.seen,
})
export type EffectOutline = z.infer<typeof EffectOutline>

/** What is known about one effect of a run. */
export const EffectFinding = z.object({
  name: z.string(),
  state: z.enum(['verified', 'absent', 'indeterminate']),
  /** As a sentence. */
  reason: z.string(),
  /** What this look saw, whatever was there before. */
  seen: Sighting.shape.seen,
})
export type EffectFinding = z.infer<typeof EffectFinding>

/** An effect as its operation is shown with. */
export const EffectFacts = EffectOutline.extend({
  /** What is looked for, by the names of the spec's fields, every value masked; absent where that is forgotten. */
  fields: z.record(z.string(), z.string()).optional(),
  /** Whether the run left it behind, as far as the record says; absent where nobody has looked. */
  state: EffectFinding.shape.state.optional(),
  reason: EffectFinding.shape.reason.optional(),
})
export type EffectFacts = z.infer<typeof EffectFacts>

/** What is known about all effects of a run together. Only `verified` counts. */
export const EffectVerdict = z.object({
  verdict: z.enum(['verified', 'partial', 'absent', 'indeterminate']),
  effects: z.array(EffectFinding),
})
export type EffectVerdict = z.infer<typeof EffectVerdict>
