import { AppError, type JsonSchema } from '../../../contracts/index.ts'
import { didYouMean } from '../../kernel/index.ts'
import type { EffectValues } from './effect-kind.ts'

/** Where a value can come from. */
export const ROOTS = ['input', 'config', 'operationId'] as const
export type Root = (typeof ROOTS)[number]

type Scalar = string | number | boolean

/** `{input.task.id}`: a gap, and the way to its value. */
export interface Placeholder {
  readonly root: Root
  readonly path: readonly string[]
  /** As it is written, braces included. */
  readonly text: string
}

export type Template = readonly (string | Placeholder)[]

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
export type WriteValue = (value: string, root: Root) => string

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
    // Only what is its own: nothing of a prototype is a value that somebody gave.
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
