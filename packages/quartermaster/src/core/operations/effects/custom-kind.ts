import { z } from 'zod'
import type { EffectDefinition, EffectFields, Tool } from '../../catalogue/index.ts'
import type { EffectKind } from './effect-kind.ts'
import { createTemplatedKind, type TemplateRule } from './templated-kind.ts'
import type { EffectKinds } from './verify-effects.ts'

/** The kind that a capability brings, as the verifier uses it. */
export function customKind(definition: EffectDefinition): EffectKind {
  const { kind, fields = [], witness } = definition
  const each = <T>(value: T) => Object.fromEntries(fields.map(field => [field, value]))
  return createTemplatedKind<EffectFields>({
    kind,
    ...(witness && { witness }),
    schema: z.strictObject(each(z.union([z.string(), z.number(), z.boolean()]))),
    templates: each<TemplateRule>({ keepsType: true }),
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
