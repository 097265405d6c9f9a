import { type z } from 'zod'
import {
  AppError,
  type EffectSpec,
  issueText,
  type JsonSchema,
  messageOf,
  type Observation,
} from '../../../contracts/index.ts'
import { didYouMean, fewIssues } from '../../kernel/index.ts'

/** What the placeholders of a spec are filled with. */
export interface EffectValues {
  /** The checked input of the call. */
  readonly input: unknown
  /** The capability's configuration for the agent that calls. */
  readonly config: unknown
  readonly operationId: string
}

/** A spec whose placeholders are filled: plain JSON, kept until the next look. */
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
  /** Whether presence of a thing proves the effect, or absence. */
  readonly witness: 'presence' | 'absence'
  /** What is wrong with a spec, a sentence each; nothing when it can be used. */
  check(spec: EffectSpec, surroundings?: EffectSurroundings): string[]
  /** Fills the placeholders. Throws `INPUT_INVALID` or `DEFINITION_INVALID` and names the placeholder that cannot be filled. */
  concrete(spec: EffectSpec, values: EffectValues): ConcreteEffect
  /** Looks once. Throwing means "could not tell", which is not the same as "absent". */
  look(effect: ConcreteEffect, options: { readonly signal: AbortSignal }): Promise<Observation>
}

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
  look(fields: F, options: { readonly signal: AbortSignal }): Promise<Observation>
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

/** Where a value can come from. */
const ROOTS = ['input', 'config', 'operationId'] as const
type Root = (typeof ROOTS)[number]

type Scalar = string | number | boolean

/** `{input.task.id}`: a gap, and the way to its value. */
interface Placeholder {
  readonly root: Root
  readonly path: readonly string[]
  /** As it is written, braces included. */
  readonly text: string
}

type Template = readonly (string | Placeholder)[]

/** Reads a text with gaps in one pass; `{{` stands for a brace. Throws `DEFINITION_INVALID`. */
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

/** The gaps of a template. */
export function placeholdersOf(template: Template): Placeholder[] {
  return template.filter(part => typeof part !== 'string')
}

/** How a value is written into a text. */
type WriteValue = (value: string, root: Root) => string

/** The text with every gap filled. */
export function fillTemplate(template: Template, values: EffectValues, write: WriteValue = value => value): string {
  const parts = template.map(part =>
    typeof part === 'string' ? part : write(String(valueOf(part, values)), part.root),
  )
  return parts.join('')
}

/** The same for a place that takes numbers too: what is a gap and nothing else keeps the type of its value. */
export function fillValue(template: Template, values: EffectValues): Scalar {
  const [only, ...others] = template
  return typeof only === 'object' && others.length === 0 ? valueOf(only, values) : fillTemplate(template, values)
}

/** Why a placeholder cannot be filled from every input that a schema lets through; nothing when it can, as far as one sees. */
export function unfillable({ root, path: [first = ''], text }: Placeholder, input: JsonSchema): string | undefined {
  const { properties, required, additionalProperties } = input
  if (root !== 'input' || !isRecord(properties)) return undefined
  if (!Object.hasOwn(properties, first)) {
    const isOpen = additionalProperties !== undefined && additionalProperties !== false
    return isOpen ? undefined : `${text} is not in the input.${didYouMean(first, Object.keys(properties))}`
  }
  const property = properties[first]
  const isSure = (Array.isArray(required) && required.includes(first)) || (isRecord(property) && 'default' in property)
  return isSure ? undefined : `${text} may be missing from the input; make "${first}" required or give it a default.`
}

const SEGMENT = /^[A-Za-z0-9_-]+$/

function placeholderOf(text: string): Placeholder {
  const [root = '', ...path] = text.slice(1, -1).split('.')
  if (!isRoot(root)) throw malformed(`${shortened(text)} begins with none of ${ROOTS.join(', ')}`)
  const isWhole = root === 'operationId' ? path.length === 0 : path.length > 0
  if (!isWhole || !path.every(segment => SEGMENT.test(segment)))
    throw malformed(`${shortened(text)} is no way to a value, such as {input.path}, {config.folder} or {operationId}`)
  return { root, path, text }
}

function isRoot(text: string): text is Root {
  return (ROOTS as readonly string[]).includes(text)
}

function malformed(what: string): AppError {
  return new AppError('DEFINITION_INVALID', `${what}; "{{" stands for a brace.`)
}

/** What someone wrote may be long, and a message is read. */
function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

function valueOf({ root, path, text }: Placeholder, values: EffectValues): Scalar {
  const found = path.reduce<unknown>(
    // Own properties only: nothing inherited from a prototype is a given value.
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

/** A row as its values, in the order of the columns. */
export type SqlValues = readonly unknown[]

/** A database that can be asked and not changed. */
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
