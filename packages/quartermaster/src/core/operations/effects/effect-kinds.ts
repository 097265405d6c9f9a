import { type z } from 'zod'
import {
  AppError,
  type EffectSpec,
  issueText,
  type JsonSchema,
  messageOf,
  type Observation,
} from '../../../contracts/index.ts'
import { didYouMean, firstIssues } from '../../kernel/index.ts'

/** The values of the placeholders in a spec. */
export interface EffectValues {
  /** The validated input of the call. */
  readonly input: unknown
  /** The capability's configuration for the calling agent. */
  readonly config: unknown
  readonly operationId: string
}

/** A spec with its placeholders filled: plain JSON, stored until the next verification. */
export interface ConcreteEffect {
  readonly name: string
  readonly kind: string
  /** By the names of the spec's fields. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** What a spec is checked against when definitions load. */
export interface EffectSurroundings {
  /** The input schema of the tool that declares the effect. */
  readonly input?: JsonSchema | undefined
}

/** A kind of effect that calls have outside, and how to observe it. It only reads. */
export interface EffectKind {
  readonly kind: string
  /** The fields of a spec beside `name` and `kind`. */
  readonly fields: readonly string[]
  /** Whether the presence of a thing proves the effect, or its absence. */
  readonly witness: 'presence' | 'absence'
  /** The problems of a spec, a sentence each. */
  check(spec: EffectSpec, surroundings?: EffectSurroundings): string[]
  /** Fills the placeholders. Throws `INPUT_INVALID` or `DEFINITION_INVALID` and names the placeholder that cannot be filled. */
  concrete(spec: EffectSpec, values: EffectValues): ConcreteEffect
  /** Observes the effect once. Throwing means "unknown", which is not the same as "absent". */
  look(effect: ConcreteEffect, options: { readonly signal: AbortSignal }): Promise<Observation>
}

/** How the placeholders of one field are filled. */
export interface TemplateRule {
  /** Where its values may come from; anywhere when absent. */
  readonly roots?: readonly Root[]
  /** How a value is written into the text; unchanged when absent. */
  readonly write?: WriteValue
  /** A field that is a single placeholder keeps the type of its value. */
  readonly keepsType?: boolean
}

export interface TemplatedKindOptions<F extends Record<string, unknown>> {
  readonly kind: string
  readonly witness?: EffectKind['witness']
  /** The fields of a spec with unfilled placeholders: strict, so that a misspelled one is found. */
  readonly schema: z.ZodObject<z.ZodRawShape> & z.ZodType<F>
  /** Which fields may have placeholders. */
  readonly templates: { readonly [K in keyof F]?: TemplateRule }
  /** Problems that the schema does not find. */
  check?(fields: F): string[]
  /** The problem of the filled fields, if any. */
  checkFilled?(fields: F): string | undefined
  look(fields: F, options: { readonly signal: AbortSignal }): Promise<Observation>
}

/** A kind whose fields are checked by a schema and may have placeholders. */
export function createTemplatedKind<F extends Record<string, unknown>>(options: TemplatedKindOptions<F>): EffectKind {
  const { kind, schema, witness = 'presence' } = options
  const fields = Object.keys(schema.shape)
  return {
    kind,
    witness,
    fields,
    check(spec, surroundings = {}) {
      const own = fieldsOf(spec)
      const unknown = Object.keys(own).filter(key => !fields.includes(key))
      const parsed = schema.safeParse(without(own, unknown))
      return [
        ...unknown.map(key => `"${key}" is not a field of ${kind}.${didYouMean(key, fields)}`),
        ...(parsed.success ? (options.check?.(parsed.data) ?? []) : firstIssues(parsed.error.issues).map(issueText)),
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

/** The sources of values. */
const ROOTS = ['input', 'config', 'operationId'] as const
type Root = (typeof ROOTS)[number]

type Scalar = string | number | boolean

/** `{input.task.id}`. */
interface Placeholder {
  readonly root: Root
  readonly path: readonly string[]
  /** As written, with braces. */
  readonly text: string
}

type Template = readonly (string | Placeholder)[]

/** Parses a text with placeholders; `{{` is an escaped brace. Throws `DEFINITION_INVALID`. */
export function parseTemplate(text: string): Template {
  const parts: (string | Placeholder)[] = []
  let at = 0
  for (;;) {
    const open = text.indexOf('{', at)
    if (open < 0) break
    if (open > at) parts.push(text.slice(at, open))
    if (text[open + 1] === '{') {
      parts.push('{')
      at = open + 2
      continue
    }
    const close = text.indexOf('}', open)
    if (close < 0) throw malformed(`"${shortened(text.slice(open))}" has no closing brace`)
    parts.push(placeholderOf(text.slice(open, close + 1)))
    at = close + 1
  }
  if (at < text.length) parts.push(text.slice(at))
  return parts
}

export function placeholdersOf(template: Template): Placeholder[] {
  return template.filter(part => typeof part !== 'string')
}

type WriteValue = (value: string, root: Root) => string

/** The text with every placeholder filled. */
export function fillTemplate(template: Template, values: EffectValues, write: WriteValue = value => value): string {
  const parts = template.map(part =>
    typeof part === 'string' ? part : write(String(valueOf(part, values)), part.root),
  )
  return parts.join('')
}

/** The same for a field that takes numbers too: a single placeholder keeps the type of its value. */
export function fillValue(template: Template, values: EffectValues): Scalar {
  const [only, ...others] = template
  return typeof only === 'object' && others.length === 0 ? valueOf(only, values) : fillTemplate(template, values)
}

/** Why a placeholder may have no value although the input matches its schema; nothing where none can be seen. */
export function unfillable({ root, path: [first = ''], text }: Placeholder, input: JsonSchema): string | undefined {
  const { properties, required, additionalProperties } = input
  if (root !== 'input' || !isRecord(properties)) return undefined
  if (!Object.hasOwn(properties, first)) {
    const isOpen = additionalProperties !== undefined && additionalProperties !== false
    return isOpen ? undefined : `${text} is not in the input.${didYouMean(first, Object.keys(properties))}`
  }
  const property = properties[first]
  const isAlwaysSet =
    (Array.isArray(required) && required.includes(first)) || (isRecord(property) && 'default' in property)
  return isAlwaysSet
    ? undefined
    : `${text} may be missing from the input; make "${first}" required or give it a default.`
}

const SEGMENT = /^[A-Za-z0-9_-]+$/

function placeholderOf(text: string): Placeholder {
  const [root = '', ...path] = text.slice(1, -1).split('.')
  if (!isRoot(root)) throw malformed(`${shortened(text)} begins with none of ${ROOTS.join(', ')}`)
  const isWhole = root === 'operationId' ? path.length === 0 : path.length > 0
  if (!isWhole || !path.every(segment => SEGMENT.test(segment)))
    throw malformed(
      `${shortened(text)} is no valid placeholder, such as {input.path}, {config.folder} or {operationId}`,
    )
  return { root, path, text }
}

function isRoot(text: string): text is Root {
  return (ROOTS as readonly string[]).includes(text)
}

function malformed(what: string): AppError {
  return new AppError('DEFINITION_INVALID', `${what}; "{{" is an escaped brace.`)
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function valueOf({ root, path, text }: Placeholder, values: EffectValues): Scalar {
  const found = path.reduce<unknown>(
    // Own properties only, nothing inherited from a prototype.
    (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    values[root],
  )
  if (typeof found === 'string' || typeof found === 'boolean') return found
  if (typeof found === 'number' && Number.isFinite(found)) return found
  const what = found === undefined || found === null ? 'has no value' : 'is no text, number or boolean'
  if (root === 'input')
    throw new AppError('INPUT_INVALID', `${text} ${what}, and an effect of this tool is known by it.`)
  throw new AppError('DEFINITION_INVALID', `${text} ${what}; the effect that uses it cannot be looked for.`)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** The values of a row, in the order of the columns. */
export type SqlValues = readonly unknown[]

/** A read-only database connection. */
export interface SqlConnection {
  query(
    sql: string,
    parameters: readonly unknown[],
    options: { readonly signal: AbortSignal },
  ): Promise<readonly SqlValues[]>
}

/** The databases that the configuration names. */
export interface SqlConnections {
  get(name: string): SqlConnection | undefined
}
