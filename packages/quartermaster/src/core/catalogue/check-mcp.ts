import type { z } from 'zod'
import {
  McpExtras,
  PromptArgument,
  PromptFacts,
  ResourceFacts,
  ResourceMcpExtras,
  UpstreamPromptFacts,
  UpstreamResourceFacts,
} from '../../contracts/index.ts'
import { canonicalJson, didYouMean } from '../kernel/index.ts'
import type { ProblemList } from './checks.ts'
import { type Bundle, type CheckContext, checkFields, unionOf } from './checks.ts'
import type { Prompt, Resource } from './generation.ts'
import { type AnyPrompt, type AnyResource, type Suggest, withoutReserved } from './mcp-definitions.ts'

/** These extras are sent to every client with every list. */
const MOST_BYTES = 16 * 1024

/**
 * Copies the additional MCP fields as plain JSON. Invalid extras of an upstream are dropped with a warning: its author is not here
 * to fix them, and the definition works without.
 */
export function checkMcp<T extends McpExtras>(
  given: unknown,
  schema: z.ZodType<T>,
  { subject, context }: { subject: string; context: CheckContext },
): T | undefined {
  if (given === undefined) return undefined
  const read = readExtras(given, schema)
  if ('extras' in read) return read.extras
  if (context.kind === 'upstream') context.problems.warn(subject, 'mcp', `${read.wrong}, and is left out`)
  else context.problems.add(subject, 'mcp', read.wrong)
  return undefined
}

function readExtras<T extends McpExtras>(given: unknown, schema: z.ZodType<T>): { extras: T } | { wrong: string } {
  const text = jsonOf(given)
  if (text === undefined) return { wrong: 'must be plain JSON' }
  if (text.length > MOST_BYTES) return { wrong: `is larger than ${MOST_BYTES} bytes` }
  const parsed = schema.safeParse(JSON.parse(text))
  if (!parsed.success) {
    const [first] = parsed.error.issues
    return { wrong: `is not what it may be: ${first?.path.join('.')} ${first?.message}` }
  }
  const { _meta, ...rest } = parsed.data
  const meta = _meta === undefined ? {} : { _meta: withoutReserved(_meta) }
  return { extras: Object.freeze({ ...rest, ...meta }) as T }
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // A cycle, a BigInt, or a `toJSON` that throws: it is not JSON.
    return undefined
  }
}

const PROMPT_FIELDS = [...Object.keys(PromptFacts.shape), 'render', 'codeHash']
const ARGUMENT_FIELDS = new Set([...Object.keys(PromptArgument.shape), 'suggest'])

/** Checks one prompt completely. A bad prompt is left out, with all its problems reported. */
export function checkPrompt(definition: AnyPrompt, bundle: Bundle, context: CheckContext): Prompt | undefined {
  const { problems } = context
  const subject = `prompt:${String(definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from definePrompt')
    return undefined
  }
  checkFields(definition, PROMPT_FIELDS, subject, problems)
  const mcp = checkMcp(definition.mcp, McpExtras, { subject, context })
  const schema = context.kind === 'upstream' ? UpstreamPromptFacts : PromptFacts
  const facts = schema.safeParse({ ...promptWithDefaults(definition, bundle, context), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const suggest = checkArguments(definition.arguments ?? [], subject, problems)
  if (typeof definition.render !== 'function') problems.add(subject, 'render', 'must be a function')
  if (problems.errors > before || !facts.success) return undefined
  return Object.freeze({
    ...facts.data,
    ...context.origin,
    capability: bundle.key,
    render: definition.render.bind(definition) as Prompt['render'],
    suggest,
    hash: context.deps.digest(canonicalJson({ ...facts.data, codeHash: definition.codeHash ?? context.unitHash })),
  })
}

function promptWithDefaults(prompt: AnyPrompt, bundle: Bundle, { kind }: CheckContext): object {
  const given: unknown = prompt.arguments ?? []
  return {
    name: prompt.name,
    title: prompt.title ?? prompt.name,
    short: kind === 'upstream' ? prompt.short || prompt.title || prompt.name : prompt.short,
    icon: prompt.icon,
    requires: unionOf(bundle.requires, prompt.requires ?? []),
    arguments: Array.isArray(given) ? given.map(argumentFacts) : given,
  }
}

function argumentFacts(argument: unknown): unknown {
  if (typeof argument !== 'object' || argument === null) return argument
  const { name, title, short, required = false } = argument as Record<string, unknown>
  return { name, title, short, required }
}

/** Checks what the schema does not: unknown fields, duplicate names, `suggest` that is no function. */
function checkArguments(given: unknown, subject: string, problems: ProblemList): Map<string, Suggest> {
  const suggest = new Map<string, Suggest>()
  const seen = new Set<unknown>()
  for (const [index, argument] of (Array.isArray(given) ? given : []).entries()) {
    if (typeof argument !== 'object' || argument === null) continue
    const field = `arguments.${index}`
    const unknown = Object.keys(argument).filter(key => !ARGUMENT_FIELDS.has(key))
    for (const key of unknown)
      problems.add(subject, `${field}.${key}`, `is not a field of an argument.${didYouMean(key, ARGUMENT_FIELDS)}`)
    const { name, suggest: helper } = argument as { name: string; suggest?: Suggest }
    if (seen.has(name)) problems.add(subject, `${field}.name`, `"${String(name)}" comes twice`)
    seen.add(name)
    if (typeof helper === 'function') suggest.set(name, helper.bind(argument))
    else if (helper !== undefined) problems.add(subject, `${field}.suggest`, 'must be a function')
  }
  return suggest
}

const RESOURCE_FIELDS = [...Object.keys(ResourceFacts.shape), 'suggest', 'read', 'watch', 'codeHash']

/** Checks one resource completely. A bad resource is left out, with all its problems reported. */
export function checkResource(definition: AnyResource, bundle: Bundle, context: CheckContext): Resource | undefined {
  const { problems } = context
  const subject = `resource:${String(definition?.uri ?? definition?.uriTemplate ?? definition?.name)}`
  const before = problems.errors
  if (typeof definition !== 'object' || definition === null) {
    problems.add(subject, 'definition', 'must come from defineResource')
    return undefined
  }
  checkFields(definition, RESOURCE_FIELDS, subject, problems)
  const mcp = checkMcp(definition.mcp, ResourceMcpExtras, { subject, context })
  const schema = context.kind === 'upstream' ? UpstreamResourceFacts : ResourceFacts
  const facts = schema.safeParse({ ...resourceWithDefaults(definition, bundle), mcp })
  if (!facts.success) problems.addIssues(subject, '', facts.error.issues)
  const address = facts.success ? addressOf(facts.data) : undefined
  const suggest = checkSuggest(definition.suggest ?? {}, address?.params, subject, problems)
  if (typeof definition.read !== 'function') problems.add(subject, 'read', 'must be a function')
  if (!['function', 'undefined'].includes(typeof definition.watch)) problems.add(subject, 'watch', 'must be a function')
  if (problems.errors > before || !facts.success || !address) return undefined
  return Object.freeze({
    ...facts.data,
    ...address,
    ...context.origin,
    capability: bundle.key,
    claimedAt: context.claimed?.get(address.key),
    read: definition.read.bind(definition) as Resource['read'],
    watch: definition.watch?.bind(definition) as Resource['watch'],
    suggest,
    hash: context.deps.digest(canonicalJson({ ...facts.data, codeHash: definition.codeHash ?? context.unitHash })),
  })
}

function resourceWithDefaults(resource: AnyResource, bundle: Bundle): object {
  return {
    name: resource.name,
    title: resource.title ?? resource.name,
    short: resource.short ?? '',
    icon: resource.icon,
    mimeType: resource.mimeType,
    uri: resource.uri,
    uriTemplate: resource.uriTemplate,
    requires: unionOf(bundle.requires, resource.requires ?? []),
  }
}

function addressOf({ uri, uriTemplate }: ResourceFacts): Pick<Resource, 'key' | 'match' | 'params'> {
  if (uriTemplate !== undefined) return { key: uriTemplate, ...parseUriTemplate(uriTemplate) }
  return { key: uri ?? '', params: [], match: other => (other === uri ? {} : undefined) }
}

function checkSuggest(
  given: unknown,
  params: readonly string[] | undefined,
  subject: string,
  problems: ProblemList,
): Map<string, Suggest> {
  if (typeof given !== 'object' || given === null)
    problems.add(subject, 'suggest', 'must have a function for each name')
  const suggest = new Map<string, Suggest>()
  for (const [name, helper] of Object.entries(Object(given) as Record<string, unknown>)) {
    const field = `suggest.${name}`
    if (params && !params.includes(name))
      problems.add(subject, field, `is not a name of its template.${didYouMean(name, params)}`)
    if (typeof helper === 'function') suggest.set(name, helper.bind(given))
    else if (helper !== undefined) problems.add(subject, field, 'must be a function')
  }
  return suggest
}

interface Gap {
  readonly expressions: readonly Expression[]
  readonly textAfter: string
}

/** Parses a URI template (RFC 6570). `match` gives the variables' values in a URI, or `undefined` if the template does not match. */
export function parseUriTemplate(template: string): Pick<Resource, 'params' | 'match'> {
  const { first, gaps } = parsePieces(template)
  const params = [...new Set(gaps.flatMap(({ expressions }) => expressions.flatMap(({ names }) => names)))]
  return {
    params,
    match(uri) {
      const texts = splitByTexts(uri, first, gaps)
      const values = texts && gaps.map(({ expressions }, index) => gapValues(expressions, texts[index] ?? ''))
      return values?.every(one => one !== undefined) ? Object.assign({}, ...values) : undefined
    },
  }
}

function parsePieces(template: string): { first: string; gaps: Gap[] } {
  const pieces = template.split(/\{([^{}]*)\}/)
  const gaps: { expressions: Expression[]; textAfter: string }[] = []
  for (let index = 1; index < pieces.length; index += 2) {
    const expression = parseExpression(pieces[index] ?? '')
    const textAfter = pieces[index + 1] ?? ''
    const last = gaps.at(-1)
    if (last?.textAfter === '') {
      last.expressions.push(expression)
      last.textAfter = textAfter
    } else gaps.push({ expressions: [expression], textAfter })
  }
  return { first: pieces[0] ?? '', gaps }
}

/**
 * Finds what stands between the literal texts in one pass, taking each text at its first occurrence: a regular expression would
 * backtrack on crafted URIs.
 */
function splitByTexts(uri: string, first: string, gaps: readonly Gap[]): string[] | undefined {
  if (!uri.startsWith(first)) return undefined
  const found: string[] = []
  let from = first.length
  for (const [index, { expressions, textAfter }] of gaps.entries()) {
    const least = from + (expressions.every(({ mayBeEmpty }) => mayBeEmpty) ? 0 : 1)
    const isLast = index === gaps.length - 1
    const end = uri.endsWith(textAfter) ? uri.length - textAfter.length : -1
    const to = isLast ? end : uri.indexOf(textAfter, least)
    if (to < least) return undefined
    found.push(uri.slice(from, to))
    from = to + textAfter.length
  }
  return found
}

/** Values of adjacent expressions. Each ends where the sign of a later expression begins. */
function gapValues(expressions: readonly Expression[], gap: string): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  let rest = gap
  for (const [index, expression] of expressions.entries()) {
    const end = endOf(rest, expression, expressions.slice(index + 1))
    const own = expression.read(rest.slice(0, end))
    if (!own) return undefined
    Object.assign(values, own)
    rest = rest.slice(end)
  }
  return rest === '' ? values : undefined
}

function endOf(text: string, { sign }: Expression, following: readonly Expression[]): number {
  if (!text.startsWith(sign)) return 0
  const places = following.map(other => (other.sign === '' ? -1 : text.indexOf(other.sign, sign.length)))
  return Math.min(text.length, ...places.filter(context => context >= 0))
}

/** One expression of a template, between braces (RFC 6570 §2.2). */
interface Expression {
  /** The first character of its expansion; empty for plain expressions. */
  readonly sign: string
  readonly names: readonly string[]
  readonly mayBeEmpty: boolean
  /** The variables' values in this text; `undefined` if the text is no expansion of it. */
  read(text: string): Record<string, string> | undefined
}

/** Parses an expression. Prefix lengths (`:3`) are ignored: the owner of the resource judges the URI. */
function parseExpression(text: string): Expression {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? ''
  const specs = text.slice(operator.length).split(',')
  const names = specs.map(spec => spec.replace(/\*$|:\d+$/, ''))
  const { sign, separator, forbidden, isNamed = false } = OPERATORS[operator as Operator]
  const isOpen = specs.some(spec => spec.endsWith('*'))
  return {
    sign,
    names,
    mayBeEmpty: sign !== '',
    read(expansion) {
      if (expansion === '' && sign !== '') return {}
      if (!expansion.startsWith(sign) || forbidden.test(expansion.slice(sign.length))) return undefined
      const inside = expansion.slice(sign.length)
      if (isNamed) return namedValues(inside.split(separator), names, isOpen)
      return listedValues(names.length === 1 ? [inside] : inside.split(separator), names, separator)
    },
  }
}

type Operator = '' | '+' | '#' | '.' | '/' | ';' | '?' | '&'

/** Characters are `forbidden` in an expansion because they start another part of the URI. */
const OPERATORS: Readonly<Record<Operator, { sign: string; separator: string; forbidden: RegExp; isNamed?: boolean }>> =
  {
    '': { sign: '', separator: ',', forbidden: /[/?#]/ },
    '+': { sign: '', separator: ',', forbidden: /(?!)/ },
    '#': { sign: '#', separator: ',', forbidden: /(?!)/ },
    '.': { sign: '.', separator: '.', forbidden: /[/?#]/ },
    '/': { sign: '/', separator: '/', forbidden: /[?#]/ },
    ';': { sign: ';', separator: ';', forbidden: /[/?#]/, isNamed: true },
    '?': { sign: '?', separator: '&', forbidden: /#/, isNamed: true },
    '&': { sign: '&', separator: '&', forbidden: /#/, isNamed: true },
  }

/** The last variable gets the remaining parts: only a list can be longer. */
function listedValues(
  parts: readonly string[],
  names: readonly string[],
  separator: string,
): Record<string, string> | undefined {
  const last = names.length - 1
  const texts = parts.length > names.length ? [...parts.slice(0, last), parts.slice(last).join(separator)] : parts
  const values = texts.map(decoded)
  if (values.includes(undefined)) return undefined
  return Object.fromEntries(values.map((value, index) => [names[index] ?? '', value ?? '']))
}

function namedValues(
  parts: readonly string[],
  names: readonly string[],
  isOpen: boolean,
): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  for (const part of parts) {
    const [name = '', ...value] = part.split('=')
    const text = decoded(value.join('='))
    if (text === undefined || (!isOpen && !names.includes(name))) return undefined
    // With a star, any name may occur.
    if (names.includes(name)) values[name] = text
  }
  return values
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // Malformed percent-encoding: no expansion produces it.
    return undefined
  }
}
