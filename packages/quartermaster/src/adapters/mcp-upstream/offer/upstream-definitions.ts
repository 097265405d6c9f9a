import type { PinKind, Problem, UpstreamConfig } from '../../../contracts/index.ts'
import {
  type AnyPrompt,
  type AnyResource,
  type AnyTool,
  type Capability,
  type NameClaim as Claim,
  type DependencyDefinition,
  defineCapability,
  definePrompt,
  defineResource,
  defineTool,
  type PromptDefinition,
  type ResourceDefinition,
  type WithheldTool,
} from '../../../core/catalogue/index.ts'
import type { Digest, Steps } from '../../../core/kernel/index.ts'
import {
  type ClaimChange,
  consentOperationsOf,
  contradictionIn,
  type HeldDefinition,
  type NameClaim,
  type OfferedDefinition,
  type OfferedNames,
  offeredNames,
  type ReviewedListing,
  toolFacts,
  unknownTools,
  unwantedTools,
  wantsTool,
} from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { Suggesting, UpstreamCalls } from './upstream-calls.ts'

interface OfferedParts {
  readonly upstream: string
  readonly config: UpstreamConfig
  /** As the server lists them, without held-back ones. */
  readonly offered: readonly OfferedDefinition[]
  /** Tools and prompts that are not offered now, and why. */
  readonly withheld: readonly HeldDefinition[]
  readonly gone: readonly string[]
  readonly unseen: string | undefined
  readonly dependency: DependencyDefinition
  readonly calls: UpstreamCalls
  readonly digest: Digest
  watch(agent: string, uri: string, onUpdated: () => void): () => void
}

/** An upstream as a capability. In steps, because it may be large. */
export function* capabilityOf(parts: OfferedParts): Steps<OfferedCapability> {
  const { upstream, config, unseen, dependency } = parts
  const tools = yield* toolsOf(parts)
  const prompts = config.prompts ? yield* promptsOf(parts) : NOTHING
  const resources = config.resources ? yield* resourcesOf(parts) : []
  const server = valueOf(parts, 'server')
  const title = config.title ?? textIn(server, 'title')
  const capability = defineCapability({
    key: upstream,
    ...(title === undefined ? {} : { title: title.slice(0, LONGEST_TITLE) }),
    short: config.short ?? `Tools of the MCP server "${textIn(server, 'name') ?? upstream}".`.slice(0, LONGEST_SHORT),
    tools: tools.made,
    prompts: prompts.made,
    resources,
    requires: [dependency.name],
    dependencies: [dependency],
    consentOperations: consentOperationsOf(upstream, tools.made, config.consentOperations),
    ...absences(parts, tools.names),
    ...(unseen === undefined ? {} : { unseen }),
  })
  const named = [
    ...namedAs('tool', tools.names),
    ...namedAs('prompt', prompts.names),
    ...resources.map(({ uri, uriTemplate }) => addressed(uri, uriTemplate)),
    ...heldNames(parts, tools.names, prompts.names),
  ]
  return { capability, problems: [...tools.problems, ...prompts.problems], named }
}

export interface OfferedCapability {
  readonly capability: Capability
  readonly problems: readonly Problem[]
  readonly named: readonly NamedDefinition[]
}

function namedAs(kind: 'tool' | 'prompt', names: Names): NamedDefinition[] {
  return [...names].map(([own, name]) => ({ kind, own, name, state: 'offered' }))
}

function addressed(uri: string | undefined, uriTemplate = ''): NamedDefinition {
  const [kind, own] = uri === undefined ? (['template', uriTemplate] as const) : (['resource', uri] as const)
  return { kind, own, name: undefined, state: 'offered' }
}

/** With the names they would have next to the offered ones. */
function heldNames(parts: OfferedParts, tools: Names, prompts: Names): NamedDefinition[] {
  const { config, withheld } = parts
  const ownNames = (wanted: 'tool' | 'prompt') => withheld.filter(({ kind }) => kind === wanted).map(({ name }) => name)
  const heldTools = ownNames('tool').filter(name => wantsTool(config, name))
  const heldPrompts = config.prompts ? ownNames('prompt') : []
  const toolsBeside = toolNames([...tools.keys(), ...heldTools], parts).names
  const promptsBeside = promptNames([...prompts.keys(), ...heldPrompts], parts).names
  const changed = new Set(withheld.filter(({ isChange }) => isChange).map(({ kind, name }) => `${kind} ${name}`))
  const held = (kind: 'tool' | 'prompt', own: string, name: string | undefined): NamedDefinition[] =>
    name === undefined ? [] : [{ kind, own, name, state: changed.has(`${kind} ${own}`) ? 'changed' : 'unoffered' }]
  return [
    ...heldTools.flatMap(own => held('tool', own, toolsBeside.get(own))),
    ...heldPrompts.flatMap(own => held('prompt', own, promptsBeside.get(own))),
  ]
}

const GONE = 'Its server does not list it any more.'
const LONGEST_TITLE = 100
const LONGEST_SHORT = 1024

interface Made<T> {
  readonly made: readonly T[]
  readonly problems: readonly Problem[]
  readonly names: Names
}

const NOTHING: Made<never> = { made: [], problems: [], names: new Map() }

type Names = ReadonlyMap<string, string>

function* toolsOf(parts: OfferedParts): Steps<Made<AnyTool>> {
  const { upstream, config, offered, withheld, unseen, calls } = parts
  const seen = named(offered, 'tool')
  const wanted = seen.filter(({ name }) => wantsTool(config, name))
  const { names, problems } = toolNames(
    wanted.map(({ name }) => name),
    parts,
  )
  const made = yield* eachOf(wanted, ({ name: own, value: raw, hash }) => {
    const name = names.get(own)
    if (name === undefined) return []
    const facts = toolFacts({ upstream, name, raw, config })
    const mutates = facts.mutates !== false
    const mayRepeat = !mutates || facts.idempotent === true
    const needsTask = isRecord(raw.execution) && raw.execution.taskSupport === 'required'
    // A read can be repeated without harm, and has no record to look its id up in.
    const isKeyed = mutates && config.idempotencyKey
    const { inputSchema } = raw
    const ownerTimeoutMs = facts.timeoutMs
    const handler = calls.call({
      name: own,
      inputSchema,
      mayRepeat,
      mutates,
      ownerTimeoutMs: ownerTimeoutMs,
      needsTask,
      isKeyed,
    })
    return [defineTool({ ...facts, codeHash: hash, handler }) as AnyTool]
  })
  const held = withheld.filter(({ kind }) => kind === 'tool')
  const known = [...seen.map(({ name }) => name), ...held.map(({ name }) => name)]
  const strange = unseen === undefined ? unknownTools(upstream, config, known) : []
  const contradictions = wanted.flatMap(({ value }) => contradictionIn(upstream, value) ?? [])
  return { made, names, problems: [...problems, ...strange, ...contradictions] }
}

function toolNames(names: readonly string[], { upstream, config, digest }: OfferedParts): OfferedNames {
  const given = new Map(Object.entries(config.tools).flatMap(([own, { name }]) => (name ? [[own, name] as const] : [])))
  return offeredNames({ upstream, prefix: config.prefix ?? upstream, names, given, digest })
}

/** Tools that are held back, are gone, or are left out by the owner, in this order. */
function absences(parts: OfferedParts, offered: Names): Pick<Capability, 'withheld' | 'gone' | 'unwanted'> {
  const { upstream, config } = parts
  const isWanted = ({ name }: { readonly name: string }) => wantsTool(config, name)
  const held = parts.withheld.filter(({ kind }) => kind === 'tool')
  const gone = parts.gone.map(name => ({ name, reason: GONE }))
  const all = [...named(parts.offered, 'tool'), ...held, ...gone].map(({ name }) => name)
  return {
    withheld: notOffered(held.filter(isWanted), parts, offered),
    gone: notOffered(gone.filter(isWanted), parts, offered),
    unwanted: notOffered(unwantedTools(upstream, config, all), parts, offered),
  }
}

/** With the names they would have next to the offered ones, from which they take none. */
function notOffered(
  tools: readonly { readonly name: string; readonly reason: string }[],
  parts: OfferedParts,
  offered: Names,
): WithheldTool[] {
  const { names } = toolNames([...offered.keys(), ...tools.map(({ name }) => name)], parts)
  const taken = new Set(offered.values())
  return tools.map(({ name, reason }) => {
    const calledAs = names.get(name)
    const isOther = calledAs !== undefined && calledAs !== name && !taken.has(calledAs)
    return { name, reason, ...(isOther ? { calledAs } : {}) }
  })
}

function promptNames(names: readonly string[], { upstream, config, digest }: OfferedParts): OfferedNames {
  return offeredNames({ upstream, prefix: config.prefix ?? upstream, names, kind: 'prompt', digest })
}

function* promptsOf(parts: OfferedParts): Steps<Made<AnyPrompt>> {
  const { offered, calls } = parts
  const seen = named(offered, 'prompt')
  const { names, problems } = promptNames(
    seen.map(({ name }) => name),
    parts,
  )
  const made = yield* eachOf(seen, ({ name: own, value: raw, hash }) => {
    const name = names.get(own)
    if (name === undefined) return []
    const prompt: AnyPrompt = {
      name,
      ...titled(raw),
      short: textIn(raw, 'description') ?? own,
      arguments: argumentsOf(raw, { kind: 'prompt', name: own }, calls),
      ...extras(raw),
      codeHash: hash,
      render: calls.prompt(own),
    }
    return [definePrompt(prompt as PromptDefinition)]
  })
  return { made, problems, names }
}

function argumentsOf(raw: Params, of: Suggesting, calls: UpstreamCalls): NonNullable<AnyPrompt['arguments']> {
  return (Array.isArray(raw.arguments) ? raw.arguments : []).filter(isRecord).flatMap(one => {
    const name = textIn(one, 'name')
    if (name === undefined) return []
    const short = textIn(one, 'description')
    return [
      {
        name,
        ...titled(one),
        ...(short === undefined ? {} : { short }),
        required: one.required === true,
        suggest: calls.suggest(of, name),
      },
    ]
  })
}

function* resourcesOf({ offered, calls, watch }: OfferedParts): Steps<AnyResource[]> {
  const seen = [...named(offered, 'resource'), ...named(offered, 'template')]
  return yield* eachOf(seen, ({ kind, name: address, value: raw, hash }) => {
    const short = textIn(raw, 'description')
    const mimeType = textIn(raw, 'mimeType')
    const resource: AnyResource = {
      name: textIn(raw, 'name') ?? address,
      ...titled(raw),
      ...(short === undefined ? {} : { short }),
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(kind === 'resource' ? { uri: address } : { uriTemplate: address, suggest: suggestionsFor(address, calls) }),
      ...extras(raw),
      codeHash: hash,
      read: ({ uri }: { uri: string }, context) => calls.read(uri, kind === 'template' ? address : undefined, context),
      watch: (uri, onUpdated, { caller }) => watch(caller.name, uri, onUpdated),
    }
    return [defineResource(resource as ResourceDefinition)]
  })
}

function* eachOf<T>(seen: readonly OfferedDefinition[], make: (one: OfferedDefinition) => readonly T[]): Steps<T[]> {
  const made: T[] = []
  for (const one of seen) {
    made.push(...make(one))
    yield
  }
  return made
}

/** For each name of the template, also of `{+path}` and `{?a,b*}`. */
function suggestionsFor(template: string, calls: UpstreamCalls): NonNullable<AnyResource['suggest']> {
  const of = { kind: 'template', name: template } as const
  const names = [...template.matchAll(/\{[+#./;?&]?([^}]*)\}/g)]
    .flatMap(([, body = '']) => body.split(','))
    .map(name => name.replace(/(?::\d+|\*)$/, ''))
  return Object.fromEntries(names.filter(name => name !== '').map(name => [name, calls.suggest(of, name)]))
}

function extras({ annotations, icons, _meta, size }: Params): { mcp?: NonNullable<AnyResource['mcp']> } {
  const mcp = {
    ...(isRecord(annotations) ? { annotations } : {}),
    ...(Array.isArray(icons) ? { icons: icons.filter(isRecord) } : {}),
    ...(isRecord(_meta) ? { _meta } : {}),
    ...(typeof size === 'number' && Number.isInteger(size) && size >= 0 ? { size } : {}),
  }
  return Object.keys(mcp).length === 0 ? {} : { mcp }
}

function titled(raw: Params): { title?: string } {
  const title = textIn(raw, 'title')
  return title === undefined ? {} : { title: title.slice(0, 200) }
}

/** Sorted: stored and listed definitions must not differ in order alone. */
function named(offered: OfferedParts['offered'], wanted: OfferedDefinition['kind']): OfferedDefinition[] {
  const found = offered.filter(({ kind }) => kind === wanted)
  return found.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
}

function valueOf({ offered }: OfferedParts, kind: OfferedDefinition['kind']): Params {
  return offered.find(one => one.kind === kind)?.value ?? {}
}

function textIn(record: Params, field: string): string | undefined {
  const value = record[field]
  return typeof value === 'string' && value !== '' ? value : undefined
}

interface NamedDefinition {
  readonly kind: PinKind
  readonly own: string
  /** `undefined` where `own` is the name, whatever is configured. */
  readonly name: string | undefined
  /** A held-back definition was changed by its server, or was never offered. */
  readonly state: 'offered' | 'changed' | 'unoffered'
}

/**
 * Since when an upstream has the names of its definitions. An earlier definition keeps its name: calls meant for it
 * must not reach a later one.
 */
export interface NameClaims {
  /** Stored times take precedence; unstored claims stay. */
  take(verdict: ReviewedListing): void
  /** Exactly these are offered now. A definition that keeps its name keeps its time. */
  settle(definitions: readonly NamedDefinition[], now: number): Claim[]
  /** Changes to store. */
  unwritten(): ClaimChange[]
  wrote(changes: readonly ClaimChange[]): void
}

export function createNameClaims(): NameClaims {
  let claims = new Map<string, NameClaim>()
  const onRecord = new Map<string, Recorded>()

  function claimOf({ kind, own, name, state }: NamedDefinition, now: number): NameClaim | undefined {
    // A changed definition keeps its name, and gets no other, also when the change was refused: the server may revert
    // it, and agents would call another definition until then.
    if (state === 'unoffered') return undefined
    const known = claims.get(keyOf(kind, own))
    if (known && (known.as === undefined || known.as === name)) return { as: name, since: known.since }
    return state === 'offered' ? { as: name, since: now } : undefined
  }

  return {
    take({ offered, held }) {
      onRecord.clear()
      for (const { kind, name, claim } of [...offered, ...held]) {
        onRecord.set(keyOf(kind, name), { kind, name, claim })
        if (claim) claims.set(keyOf(kind, name), claim)
      }
    },
    settle(definitions, now) {
      const next = new Map<string, NameClaim>()
      const told = definitions.flatMap((one): Claim[] => {
        const claim = claimOf(one, now)
        if (!claim) return []
        next.set(keyOf(one.kind, one.own), claim)
        const { kind, own, name = own, state } = one
        const what = kind === 'tool' || kind === 'prompt' ? kind : 'resource'
        return [{ kind: what, name, since: claim.since, isHeld: state !== 'offered' }]
      })
      claims = next
      return told
    },
    unwritten() {
      return [...onRecord].flatMap(([key, { kind, name, claim: before }]) => {
        const now = claims.get(key)
        return now?.as === before?.as && now?.since === before?.since ? [] : [{ kind, name, before, now }]
      })
    },
    wrote(changes) {
      for (const { kind, name, now } of changes) {
        const known = onRecord.get(keyOf(kind, name))
        if (known) known.claim = now
      }
    },
  }
}

interface Recorded {
  readonly kind: PinKind
  readonly name: string
  claim: NameClaim | undefined
}

function keyOf(kind: PinKind, name: string): string {
  return `${kind} ${name}`
}
