import {
  type ConsentOperation,
  type JsonSchema,
  type McpExtras,
  type Problem,
  ToolFacts,
  type UpstreamConfig,
  type UpstreamConsent,
  type UpstreamStatus,
  type UpstreamToolOptions,
} from '../../contracts/index.ts'
import type { ToolDefinition } from '../catalogue/index.ts'
import { consentPrefix, isRecord, upstreamUnit } from '../kernel/index.ts'
import { shortened } from './visible-text.ts'

/** A tool's definition without its handler. */
type UpstreamTool = Omit<ToolDefinition<JsonSchema, JsonSchema>, 'handler'> & { ownName: string }

interface ToolFactsOptions {
  readonly upstream: string
  /** The offered name. */
  readonly name: string
  /** The tool as the server lists it. */
  readonly raw: Readonly<Record<string, unknown>>
  readonly config: Pick<UpstreamConfig, 'tools' | 'consent' | 'timeoutMs' | 'maxResultBytes' | 'maxBinaryBytes'>
}

/**
 * The safety facts of an upstream tool: from the configuration, else from the server, else the careful assumption. A server's
 * annotations make a tool easier to repeat and harder to allow; only the configuration can do the opposite.
 */
export function toolFacts({ upstream, name, raw, config }: ToolFactsOptions): UpstreamTool {
  const ownName = textIn(raw, 'name') ?? name
  const options = Object.hasOwn(config.tools, ownName) ? config.tools[ownName] : undefined
  const title = options?.title ?? titleOf(raw)
  const output = recordIn(raw, 'outputSchema')
  const icon = iconOf(raw)
  const mcp = extrasOf(raw)
  return {
    name,
    ownName,
    short: options?.short ?? textIn(raw, 'description') ?? ownName,
    input: recordIn(raw, 'inputSchema') ?? { type: 'object' },
    ...safetyOf(upstream, raw, options, config.consent),
    ...(title === undefined ? {} : { title }),
    ...(output === undefined ? {} : { output }),
    ...(icon === undefined ? {} : { icon }),
    ...(mcp === undefined ? {} : { mcp }),
    ...limitsOf(options, config),
    ...passedOptions(options),
  }
}

/** The consent operations of a server's tools. */
export function consentOperationsOf(
  upstream: string,
  tools: readonly Pick<UpstreamTool, 'consent'>[],
  said: UpstreamConfig['consentOperations'] = {},
): ConsentOperation[] {
  const own = `${consentPrefix(upstream)}.`
  const asked = new Set(tools.flatMap(({ consent = [] }) => consent.filter(name => name.startsWith(own))))
  return [...asked].sort().map(name => {
    const {
      weight = 'high',
      reason = reasonFor(upstream, name),
      ...rest
    } = (Object.hasOwn(said, name) && said[name]) || {}
    return { name, weight, reason, ...rest }
  })
}

/** The consent operations that its tools can ask for: a misspelled one would do nothing, silently. */
export function askableConsent(
  upstream: string,
  { tools, consent }: Pick<UpstreamConfig, 'tools' | 'consent'>,
): string[] {
  const own = `${consentPrefix(upstream)}.`
  const named = Object.values(tools).flatMap(({ consent = [] }) => consent.filter(name => name.startsWith(own)))
  const kinds = consent === undefined ? ['destructive'] : ['destructive', 'changing', 'reading']
  return [...new Set([...kinds.map(kind => own + kind), ...named])]
}

/** How many of a server's tools ask a person, now and for each choice. */
export function countAsking(
  tools: readonly Readonly<Record<string, unknown>>[],
  { tools: said, consent }: Pick<UpstreamConfig, 'tools' | 'consent'>,
): NonNullable<UpstreamStatus['asks']> {
  const asking = (choice: UpstreamConsent | undefined) =>
    tools.flatMap(raw => {
      const name = textIn(raw, 'name') ?? ''
      const options = Object.hasOwn(said, name) ? said[name] : undefined
      const isAsked = options?.consent ? options.consent.length > 0 : consentKind(raw, options, choice) !== undefined
      return isAsked ? [name] : []
    })
  const now = asking(consent)
  const count = (choice: UpstreamConsent) => asking(choice).length
  const [destructive, changing, all] = [count('destructive'), count('changing'), count('all')]
  return { now: now.length, first: now.slice(0, FIRST_ASKING), destructive, changing, all }
}

const FIRST_ASKING = 10

/** Whether the server says if a tool changes or destroys something. */
export function isAnnotated(annotations: Readonly<Record<string, unknown>> = {}): boolean {
  return [annotations['readOnlyHint'], annotations['destructiveHint']].some(hint => typeof hint === 'boolean')
}

/** A tool that claims to change nothing and to destroy something is reported; the careful half is used. */
export function contradictionIn(upstream: string, raw: Readonly<Record<string, unknown>>): Problem | undefined {
  const { readOnlyHint, destructiveHint } = recordIn(raw, 'annotations') ?? {}
  if (readOnlyHint !== true || destructiveHint !== true) return undefined
  const name = textIn(raw, 'name') ?? ''
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: upstreamUnit(upstream),
    subject: `tool:${name}`,
    field: 'annotations',
    message: `Tool "${name}" says that it only reads, and that it destroys. It counts as destructive.`,
  }
}

type Safety = Pick<UpstreamTool, 'mutates' | 'idempotent' | 'consent'>

function safetyOf(
  upstream: string,
  raw: object,
  options: UpstreamToolOptions | undefined,
  choice: UpstreamConsent | undefined,
): Required<Safety> {
  const mutates = mayChange(raw, options)
  const asked = consentKind(raw, options, choice)
  return {
    mutates,
    idempotent: options?.idempotent ?? (!mutates || hintsOf(raw).idempotentHint === true),
    consent: options?.consent ?? (asked === undefined ? [] : [`${consentPrefix(upstream)}.${asked}`]),
  }
}

function hintsOf(raw: object): Record<string, unknown> {
  return recordIn(raw, 'annotations') ?? {}
}

function mayChange(raw: object, options: UpstreamToolOptions | undefined): boolean {
  const { destructiveHint, readOnlyHint } = hintsOf(raw)
  return options?.mutates ?? (destructiveHint === true || readOnlyHint !== true)
}

/** What the server's consent choice asks for; without a choice only what the server calls destructive. */
function consentKind(
  raw: object,
  options: UpstreamToolOptions | undefined,
  choice: UpstreamConsent | undefined,
): 'destructive' | 'changing' | 'reading' | undefined {
  const { destructiveHint } = hintsOf(raw)
  if (choice === 'none') return undefined
  if (destructiveHint === true) return 'destructive'
  if (!mayChange(raw, options)) return choice === 'all' ? 'reading' : undefined
  const isUnclear = typeof destructiveHint !== 'boolean' && !READING_NAME.test(textIn(raw, 'name') ?? '')
  return choice === 'all' || choice === 'changing' || (choice === 'destructive' && isUnclear) ? 'changing' : undefined
}

/** `get_user`, `get-user` and `getUser`. */
const READING_NAME = /^(?:get|list|search|read|find|describe)(?:[_-]|(?=[A-Z])|$)/

function reasonFor(upstream: string, operation: string): string {
  if (operation.endsWith('.destructive')) return `The server "${upstream}" says that this can destroy something.`
  if (operation.endsWith('.changing'))
    return `The configuration asks for it: this may change something at "${upstream}".`
  return `The configuration asks for it before this tool of "${upstream}" runs.`
}

/** The tool's own limits, or else its server's. */
function limitsOf(options: UpstreamToolOptions = {}, config: ToolFactsOptions['config']): Partial<UpstreamTool> {
  const timeoutMs = options.timeoutMs ?? config.timeoutMs
  const maxResultBytes = options.maxResultBytes ?? config.maxResultBytes
  const maxBinaryBytes = options.maxBinaryBytes ?? config.maxBinaryBytes
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
    ...(maxBinaryBytes === undefined ? {} : { maxBinaryBytes }),
  }
}

/** Options passed on as they are. */
function passedOptions(options: UpstreamToolOptions = {}): Partial<UpstreamTool> {
  const { whenToUse, section, examples, retry, asTask } = options
  return {
    ...(whenToUse === undefined ? {} : { whenToUse }),
    ...(section === undefined ? {} : { section }),
    ...(examples === undefined ? {} : { examples }),
    ...(retry === undefined ? {} : { retry }),
    ...(asTask === undefined ? {} : { asTask }),
  }
}

/** The longest title that a list has room for. */
const LONGEST_TITLE = 200

function titleOf(raw: object): string | undefined {
  const title = textIn(raw, 'title') ?? textIn(recordIn(raw, 'annotations') ?? {}, 'title')
  return title === undefined ? undefined : shortened(title, LONGEST_TITLE)
}

/** Icons are part of every list, so large ones are left out. */
const LARGEST_ICON = 8 * 1024
const LARGEST_EXTRAS = 16 * 1024

function iconOf(raw: object): string | undefined {
  const sources = listIn(raw, 'icons').flatMap(icon => textIn(icon, 'src') ?? [])
  return sources.find(src => src.length <= LARGEST_ICON && ToolFacts.shape.icon.safeParse(src).success)
}

/** The other fields for clients, without icons that are too large. */
function extrasOf(raw: object): McpExtras | undefined {
  const annotations = recordIn(raw, 'annotations')
  const icons = listIn(raw, 'icons')
  const meta = recordIn(raw, '_meta')
  const small = { ...(annotations ? { annotations } : {}), ...(meta ? { _meta: meta } : {}) }
  const all = icons.length > 0 ? { ...small, icons } : small
  const extras: McpExtras = JSON.stringify(all).length <= LARGEST_EXTRAS ? all : small
  return Object.keys(extras).length > 0 ? extras : undefined
}

function textIn(value: object, field: string): string | undefined {
  const text: unknown = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

function recordIn(value: object, field: string): Record<string, unknown> | undefined {
  const inner: unknown = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
  return isRecord(inner) ? inner : undefined
}

function listIn(value: object, field: string): Record<string, unknown>[] {
  const inner: unknown = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined
  return Array.isArray(inner) ? inner.filter(isRecord) : []
}
