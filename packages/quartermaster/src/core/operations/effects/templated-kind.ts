import type { z } from 'zod'
import { AppError, type EffectSpec, issueText, messageOf, type Sighting } from '../../../contracts/index.ts'
import { didYouMean, fewIssues } from '../../kernel/index.ts'
import type { EffectKind, EffectSurroundings, EffectValues } from './effect-kind.ts'
import {
  fillTemplate,
  fillValue,
  parseTemplate,
  placeholdersOf,
  type Root,
  type Template,
  unfillable,
  type WriteValue,
} from './templates.ts'

/** How the gaps of one field are filled. */
export interface TemplateRule {
  /** Where its values may come from; from everywhere when absent. */
  readonly roots?: readonly Root[]
  /** How a value is written into the text; as it is when absent. */
  readonly write?: WriteValue
  /** A field that is a gap and nothing else keeps the type of its value. */
  readonly keepsType?: boolean
}

export interface TemplatedKindOptions<F extends Record<string, unknown>> {
  readonly kind: string
  readonly witness?: EffectKind['witness']
  /** The fields as a spec has them, gaps unfilled: strict, so that a misspelled one is found. */
  readonly schema: z.ZodObject<z.ZodRawShape> & z.ZodType<F>
  /** Which fields have gaps. All others mean what they say. */
  readonly templates: { readonly [K in keyof F]?: TemplateRule }
  /** What is wrong with a spec that the schema lets through. */
  check?(fields: F): string[]
  /** What is wrong with filled fields; the values are to blame. */
  checkFilled?(fields: F): string | undefined
  look(fields: F, options: { readonly signal: AbortSignal }): Promise<Sighting>
}

/** A kind whose fields are checked by a schema and filled by their gaps. */
export function createTemplatedKind<F extends Record<string, unknown>>(options: TemplatedKindOptions<F>): EffectKind {
  const { kind, schema, witness = 'presence' } = options
  const fields = Object.keys(schema.shape)
  return {
    kind,
    witness,
    fields,
    check(spec, surroundings = {}) {
      const own = fieldsOf(spec)
      const strange = Object.keys(own).filter(key => !fields.includes(key))
      const parsed = schema.safeParse(without(own, strange))
      return [
        ...strange.map(key => `"${key}" is not a field of ${kind}.${didYouMean(key, fields)}`),
        ...(parsed.success ? (options.check?.(parsed.data) ?? []) : fewIssues(parsed.error.issues).map(issueText)),
        ...templateProblems(own, options.templates, surroundings),
      ]
    },
    concrete(spec, values) {
      const filled = fill(schema.parse(fieldsOf(spec)), options.templates, values)
      const problem = options.checkFilled?.(filled)
      if (problem !== undefined)
        throw new AppError('INPUT_INVALID', `The effect "${spec.name}" cannot be looked for: ${problem}`)
      return { name: spec.name, kind, fields: filled }
    },
    async look(effect, { signal }) {
      return options.look(effect.fields as F, { signal })
    },
  }
}

function fieldsOf({ name: _name, kind: _kind, ...fields }: EffectSpec): Record<string, unknown> {
  return fields
}

function without(fields: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)))
}

type Rules = Readonly<Record<string, TemplateRule | undefined>>

function templateProblems(fields: Record<string, unknown>, rules: Rules, { input }: EffectSurroundings): string[] {
  return Object.entries(rules).flatMap(([field, { roots } = {}]) =>
    textsIn(fields[field]).flatMap(text => {
      try {
        return placeholdersOf(parseTemplate(text)).flatMap(one => {
          if (roots && !roots.includes(one.root))
            return [`${field}: ${one.text} is not for this field; it takes values of ${roots.join(' and ')} alone.`]
          const problem = input && unfillable(one, input)
          return problem === undefined ? [] : [`${field}: ${problem}`]
        })
      } catch (error) {
        return [`${field}: ${messageOf(error)}`]
      }
    }),
  )
}

function textsIn(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.filter(one => typeof one === 'string')
}

function fill<F extends Record<string, unknown>>(fields: F, rules: Rules, values: EffectValues): F {
  const filled = Object.entries(fields).map(([field, value]) => {
    const rule = rules[field]
    if (!rule) return [field, value]
    return [field, Array.isArray(value) ? value.map(one => fillOne(one, rule, values)) : fillOne(value, rule, values)]
  })
  return Object.fromEntries(filled) as F
}

function fillOne(value: unknown, { write, keepsType }: TemplateRule, values: EffectValues): unknown {
  if (typeof value !== 'string') return value
  const template: Template = parseTemplate(value)
  return keepsType ? fillValue(template, values) : fillTemplate(template, values, write)
}
