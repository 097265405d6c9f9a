import type { OpFault } from '../../core/catalogue/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'

/** A piece of a template: words, the place of a parameter, or the place of a secret. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  /** `isSpread`: `{files...}` stands for several arguments, one for each value. */
  | { readonly kind: 'parameter'; readonly name: string; readonly isSpread: boolean }
  | { readonly kind: 'secret'; readonly name: string }

/** A text with places for parameters: `Weather in {city}`. `{{` and `}}` are the braces themselves. */
export interface Template {
  readonly parts: readonly TemplatePart[]
  /** Mistakes, each to be appended to the name of the field. */
  readonly faults: readonly string[]
}

const TOKEN = /\{\{|\}\}|\$\{(?!\{)([^{}]*)\}|\{([^{}]*)\}|[{}]/g
const PARAMETER = /^([A-Za-z0-9_-]+)(\.\.\.)?$/
const SECRET = /^secret:([A-Za-z0-9_.-]+)$/

export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = []
  const faults: string[] = []
  const add = (words: string) => {
    if (words !== '') parts.push({ kind: 'text', text: words })
  }
  let end = 0
  for (const found of text.matchAll(TOKEN)) {
    add(text.slice(end, found.index))
    end = found.index + found[0].length
    const part = partOf(found)
    if (typeof part === 'string') faults.push(part)
    else parts.push(part)
  }
  add(text.slice(end))
  return { parts, faults }
}

function partOf([whole, reference, parameter]: RegExpExecArray): TemplatePart | string {
  if (whole === '{{' || whole === '}}') return { kind: 'text', text: whole.charAt(0) }
  if (reference !== undefined) {
    const [, name] = SECRET.exec(reference) ?? []
    return name === undefined
      ? `has "${whole}", which is no reference to a secret; write "\${secret:NAME}"`
      : { kind: 'secret', name }
  }
  if (parameter === undefined) return `has a "${whole}" by itself; write it twice for the character`
  const [, name, spread] = PARAMETER.exec(parameter) ?? []
  if (name === undefined) return `has "${whole}", which names no parameter; write "{name}", or "{{" for the character`
  return { kind: 'parameter', name, isSpread: spread !== undefined }
}

/** The parameter, where the template consists of one parameter only. */
export function onlyParameter({ parts }: Template): { readonly name: string; readonly isSpread: boolean } | undefined {
  const [first] = parts
  return parts.length === 1 && first?.kind === 'parameter' ? first : undefined
}

export type Values = Readonly<Record<string, unknown>>

/** Whether a parameter of the template was not given, or is null. */
export function lacksValue(template: Template, values: Values): boolean {
  return lackedBy(template, values) !== undefined
}

/** The first parameter of the template that was not given. */
export function lackedBy({ parts }: Template, values: Values): string | undefined {
  const names = parts.flatMap(part => (part.kind === 'parameter' ? [part.name] : []))
  return names.find(name => (valueOf(values, name) ?? undefined) === undefined)
}

export function valueOf(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

/** The text of a template, all parameters of which were given. `encode` writes a value for its place. */
export function fill(
  { parts }: Template,
  options: { values: Values; encode?(text: string, name: string): string; secret?(name: string): string },
): string {
  const { values, encode = text => text, secret = () => '' } = options
  return parts
    .map(part => {
      if (part.kind === 'text') return part.text
      return part.kind === 'secret' ? secret(part.name) : encode(asText(valueOf(values, part.name)), part.name)
    })
    .join('')
}

/** A value as text; arrays and objects as JSON. */
export function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Where a template stands, and what may be in it there. */
export interface TemplatePlace {
  /** Dotted: `with.query.q`. */
  readonly field: string
  readonly text: string
  /** Why no secret may be here; absent where one may. */
  readonly noSecrets?: string | undefined
  /** Why a parameter may not be here; absent where one may. */
  readonly noParameters?: string | undefined
  /** Whether everything in it must be given in every call. */
  readonly needsAll?: boolean | undefined
  /** Whether `{name...}` means something here. */
  readonly takesSpread?: boolean | undefined
}

/** The names of the secrets in templates, each once. */
export function secretsIn(places: readonly TemplatePlace[]): string[] {
  const parts = places.flatMap(({ text }) => parseTemplate(text).parts)
  return [...new Set(parts.flatMap(part => (part.kind === 'secret' ? [part.name] : [])))]
}

/** The parameters that a declaration has. */
export interface DeclaredParameters {
  readonly names: readonly string[]
  isRequired(name: string): boolean
}

export function declaredIn(parameters: object): DeclaredParameters {
  const { properties, required } = parameters as { properties?: unknown; required?: unknown }
  const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  const needed = new Set(Array.isArray(required) ? required.map(String) : [])
  return { names, isRequired: name => needed.has(name) }
}

/** Mistakes in the templates of a declaration, and parameters that none of them uses. */
export function templateFaults(
  places: readonly TemplatePlace[],
  declared: DeclaredParameters,
  alsoUsed: readonly string[] = [],
): OpFault[] {
  const used = new Set(alsoUsed)
  const faults = places.flatMap(place => {
    const { parts, faults } = parseTemplate(place.text)
    for (const part of parts) if (part.kind === 'parameter') used.add(part.name)
    const wrong = [...faults, ...parts.flatMap(part => partFaults(part, place, declared))]
    return [...new Set(wrong)].map(message => ({ field: place.field, message }))
  })
  const unused = declared.names.filter(name => !used.has(name))
  return [
    ...faults,
    ...unused.map(name => ({
      field: `parameters.${name}`,
      message: `is used by nothing under "with"; write "{${name}}" where its value belongs, or leave it out`,
    })),
  ]
}

function partFaults(part: TemplatePart, place: TemplatePlace, declared: DeclaredParameters): string[] {
  if (part.kind === 'text') return []
  if (part.kind === 'secret') return place.noSecrets === undefined ? [] : [place.noSecrets]
  const { name, isSpread } = part
  if (place.noParameters !== undefined) return [place.noParameters]
  if (!declared.names.includes(name))
    return [`has "{${name}}", which is none of the parameters.${didYouMean(name, declared.names)}`]
  if (isSpread && !place.takesSpread)
    return [`has "{${name}...}", which stands for several arguments of a program and is no text`]
  if (place.needsAll && !declared.isRequired(name))
    return [`needs "{${name}}", so that the parameter must say "required: true"`]
  return []
}
