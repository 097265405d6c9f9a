import { type Problem } from '../../contracts/index.ts'
import { commandUsage, didYouMean, upstreamIn } from '../kernel/index.ts'
import { withCommand } from './check-tool.ts'
import { type CheckedUnit } from './check-unit.ts'
import { type ConsentOperationDefinition } from './consent-operation.ts'
import {
  type CatalogueCapability,
  type Declaration,
  type Dependency,
  type Generation,
  type NameClaim,
  type NameOwner,
  type Origin,
  type Prompt,
  type Resource,
  type SourceKind,
  type Tool,
} from './generation.ts'

/** The words of the commands that there are so far, with the tools that have them: one, and one for every flag. */
export type CommandWords = Map<string, Tool[]>

/** The tool with its command; without one, and with the reason, where an earlier tool has the word. It is called by its name. */
export function withOwnWord(
  tool: Tool,
  { words, problems }: { words: CommandWords; problems: Problem[] },
  kind: SourceKind,
): Tool {
  const { command } = tool
  if ('none' in command) return tool
  const others = words.get(command.name) ?? []
  const clash = others.map(other => clashOf(tool, other)).find(one => one !== undefined)
  if (!clash) {
    words.set(command.name, [...others, tool])
    return tool
  }
  // The names of a foreign server's tools cannot be fixed here.
  if (kind !== 'upstream') problems.push(withoutWord(tool, clash))
  // Not by which tool: the reader may not have that one. The problem names it for the person who fixes it.
  return withCommand(tool, { none: `${clash.why('another tool')}.` })
}

/** Why what is written for one tool cannot be told from what is written for another. */
interface Clash {
  readonly first: Tool
  why(other: string): string
}

function clashOf(tool: Tool, first: Tool): Clash | undefined {
  const [own, theirs] = [flagOf(tool), flagOf(first)]
  if (own === theirs) return { first, why: other => `The word "${wordsOf(tool)}" is taken by ${other}` }
  if (hasOption(tool, theirs))
    return { first, why: other => `Its option "--${theirs}" is the flag of ${other}, "${wordsOf(first)}"` }
  if (hasOption(first, own))
    return { first, why: other => `Its flag "--${own}" is an option of ${other}, "${wordsOf(first)}"` }
  return undefined
}

function hasOption(tool: Tool, flag: string | undefined): boolean {
  return flag !== undefined && commandUsage(tool)?.options.some(option => option.name === flag) === true
}

function flagOf({ command }: Tool): string | undefined {
  return 'none' in command ? undefined : command.flag
}

function wordsOf({ command }: Tool): string {
  if ('none' in command) return ''
  return command.flag === undefined ? command.name : `${command.name} --${command.flag}`
}

function withoutWord(tool: Tool, { first, why }: Clash): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: tool.unit,
    subject: `tool:${tool.name}`,
    field: 'command',
    message: `Tool "${tool.name}" has no command. ${why(`tool "${first.name}" of ${first.unit} (${first.source})`)}, and the earlier one stays.`,
    fix: `Give it another word in "command", or go on calling it with: quartermaster call ${tool.name}`,
  }
}

/** What persons may have to allow, by name; the earlier of two stays. */
export function takeConsentOperations(
  units: readonly CheckedUnit[],
  problems: Problem[],
): Map<string, ConsentOperationDefinition> {
  const taken = new Map<string, ConsentOperationDefinition>()
  for (const unit of units) {
    for (const operation of unit.consentOperations) {
      const first = taken.get(operation.name)
      if (!first) taken.set(operation.name, operation)
      else if (FACTS.some(fact => first[fact] !== operation[fact])) {
        const text = `Consent operation "${operation.name}" is declared twice and differently; the earlier one stays.`
        problems.push(misfit(unit, `consent:${operation.name}`, 'consentOperations', text))
      }
    }
  }
  return taken
}

const FACTS = ['weight', 'reason', 'scope', 'grantable'] as const satisfies (keyof ConsentOperationDefinition)[]

/** Scopes that no tool has the arguments for: of every call the resource stays unknown, so that no answer can last. */
export function emptyScopes(units: readonly CheckedUnit[], tools: ReadonlyMap<string, Tool>): Problem[] {
  return units.flatMap(unit =>
    unit.consentOperations.flatMap(({ name, scope }) => {
      const users = [...tools.values()].filter(({ consent }) => consent.includes(name))
      return argumentsIn(typeof scope === 'string' ? scope : '')
        .filter(argument => users.length > 0 && users.every(tool => !mayTake(tool, argument)))
        .map(argument => emptyScope(unit, name, argument))
    }),
  )
}

/** The first name of each placeholder: what is inside of an argument schemas often do not say. */
function argumentsIn(scope: string): string[] {
  const names = [...scope.matchAll(/\{([^{}]+)\}/g)].map(([, path = '']) => path.trim().split('.')[0] ?? '')
  return [...new Set(names)]
}

/** A schema that lists no properties may take any. */
function mayTake({ inputSchema: { properties } }: Tool, argument: string): boolean {
  return typeof properties !== 'object' || properties === null || Object.hasOwn(properties, argument)
}

function emptyScope(unit: CheckedUnit, operation: string, argument: string): Problem {
  const message =
    `The scope of the consent operation "${operation}" names "${argument}", ` +
    'which no tool that asks for it takes. Each call can be allowed for itself only.'
  return { ...misfit(unit, `consent:${operation}`, 'consentOperations', message), severity: 'warning' }
}

/** By kind and name: `tool:a_b`. */
export type Owners = ReadonlyMap<string, NameOwner>

/**
 * Of two upstreams the one that has had a name for longer keeps it, whichever starts first or stands first: agents that call
 * it must not reach another server from one moment to the next. Only what can be offered, or could be, has a name.
 */
export function ownersAmong(
  upstreams: readonly CheckedUnit[],
  isLeftOut: (capability: CatalogueCapability) => boolean,
): Owners {
  const owners = new Map<string, NameOwner>()
  for (const { claims, capabilities, source, unit } of upstreams) {
    const sound = new Set(capabilities.filter(one => !isLeftOut(one)).flatMap(namesIn))
    for (const claim of claims) {
      const { since, isHeld } = claim
      const key = keyOf(claim)
      const first = owners.get(key)
      if ((isHeld || sound.has(key)) && (!first || isEarlier({ since, unit }, first)))
        owners.set(key, { source, unit, since, isHeld })
    }
  }
  return owners
}

/** Two that came in the same moment go by their names: where they stand can be another place tomorrow, or in another process. */
export function isEarlier(one: Held, other: Held): boolean {
  return one.since === other.since ? one.unit < other.unit : one.since < other.since
}

type Held = Pick<NameOwner, 'since' | 'unit'>

function keyOf({ kind, name }: Pick<NameClaim, 'kind' | 'name'>): string {
  return `${kind}:${name}`
}

function namesIn({ tools, prompts }: CatalogueCapability): string[] {
  return [...tools.map(({ name }) => `tool:${name}`), ...prompts.map(({ name }) => `prompt:${name}`)]
}

/** Who else has the name, among those that come later in the order of definition. */
export function otherOwner(
  owners: Owners,
  kind: NameClaim['kind'],
  { name, unit }: Origin & { name: string },
): NameOwner | undefined {
  const owner = owners.get(keyOf({ kind, name }))
  return owner?.unit === unit ? undefined : owner
}

/** What the capabilities before this one have brought. */
export interface KnownReadings {
  readonly prompts: Map<string, Prompt>
  readonly resources: Map<string, Resource>
  readonly dependencies: ReadonlyMap<string, Dependency>
  readonly problems: Problem[]
  /** Names that upstreams have, set when the first of them comes. */
  owners: Owners
}

/** Adds a capability's prompts and resources to those there are. What does not fit is left out and explained. */
export function takeReadings(
  { prompts, resources }: CatalogueCapability,
  known: KnownReadings,
  kind: SourceKind,
): Pick<CatalogueCapability, 'prompts' | 'resources'> {
  return {
    prompts: prompts.filter(prompt => take(known.prompts, prompt.name, prompt, promptFaults(prompt, known), known)),
    resources: resources.filter(one => take(known.resources, one.key, one, resourceFaults(one, known, kind), known)),
  }
}

function take<T>(
  taken: Map<string, T>,
  key: string,
  item: T,
  faults: readonly Problem[],
  { problems }: KnownReadings,
): boolean {
  problems.push(...faults)
  if (faults.length === 0 && !taken.has(key)) taken.set(key, item)
  return faults.length === 0
}

function promptFaults(prompt: Prompt, { prompts, dependencies, owners }: KnownReadings): Problem[] {
  const { name } = prompt
  const first = prompts.get(name) ?? otherOwner(owners, 'prompt', prompt)
  const missing = missingRequires(prompt, { kind: 'prompt', name }, dependencies)
  return first ? [nameTaken('prompt', name, prompt, first), ...missing] : missing
}

function resourceFaults(resource: Resource, { resources, dependencies }: KnownReadings, kind: SourceKind): Problem[] {
  const { key } = resource
  const first = resources.get(key)
  const missing = missingRequires(resource, { kind: 'resource', name: key }, dependencies)
  // The address of a foreign server's resource cannot be changed here, and most agents have only one of the two.
  const mayShare = kind === 'upstream' && first?.unit !== resource.unit
  return first && !mayShare ? [addressTaken(resource, first, kind), ...missing] : missing
}

const FIX_ADDRESS = {
  ours: 'Give one of the two another address.',
  theirs: 'Only the author of the server can give one of the two another address.',
} as const

function addressTaken(resource: Resource, first: Origin, kind: SourceKind): Problem {
  const { key, uri } = resource
  const text = `The address "${key}" is taken by ${first.unit} (${first.source}); the earlier one stays.`
  const field = uri === undefined ? 'uriTemplate' : 'uri'
  return {
    ...misfit(resource, `resource:${key}`, field, text),
    fix: FIX_ADDRESS[kind === 'upstream' ? 'theirs' : 'ours'],
  }
}

/** Something about a definition that is right in itself and does not fit with the others. */
export function misfit(origin: Origin, subject: string, field: string, message: string): Problem {
  return { severity: 'error', code: 'DEFINITION_INVALID', where: origin.unit, subject, field, message }
}

/** What has a name, and whose it is. */
export type NamedKind = 'tool' | 'prompt' | 'capability' | 'injection' | 'dependency' | 'op' | 'unit'

/** A name that something else has. Of a tool of an upstream also what the server calls it, which is what its entry goes by. */
export function nameTaken(
  kind: NamedKind,
  name: string,
  origin: Origin & { readonly ownName?: string },
  first: Origin & { readonly isHeld?: boolean },
): Problem {
  const text = `The ${kind} name "${name}" is taken by ${first.unit} (${first.source}); ${whyKept(origin, first)}.`
  const upstream = upstreamIn(origin.unit)
  const { ownName = name } = origin
  const fix = upstream === undefined ? fixHere(kind) : fixUpstream({ upstream, kind, ownName })
  return { ...misfit(origin, `${kind}:${name}`, 'name', text), fix }
}

/** What would be wrong if an upstream offered this beside what there is now. */
export function clashWith(
  { tools, prompts, owners }: Pick<Generation, 'tools' | 'prompts' | 'owners'>,
  wanted: Origin & { readonly kind: 'tool' | 'prompt'; readonly name: string; readonly ownName: string },
): Problem | undefined {
  const { kind, name, unit } = wanted
  const first = (kind === 'tool' ? tools : prompts).get(name) ?? otherOwner(owners, kind, wanted)
  return first && first.unit !== unit ? nameTaken(kind, name, wanted, first) : undefined
}

function whyKept(origin: Origin, first: Origin & { readonly isHeld?: boolean }): string {
  if (first.isHeld) return 'it has it now, and keeps it while what it has there is held back'
  if (upstreamIn(origin.unit) === undefined) return 'the earlier one stays'
  return upstreamIn(first.unit) === undefined
    ? 'what is built in or defined by the project goes before what a server has'
    : 'it has it now, and keeps it for as long as it offers it'
}

/** Where a named definition says it, in whichever file that is. */
const FIELDS = {
  tool: 'name',
  prompt: 'name',
  dependency: 'name',
  capability: 'key',
  injection: 'key',
  op: 'id',
} as const satisfies Record<Exclude<NamedKind, 'unit'>, string>

function fixHere(kind: NamedKind): string {
  return kind === 'unit' ? 'Give one of the two files another name.' : `Give one of the two another "${FIELDS[kind]}".`
}

/** The names of a foreign server cannot be changed here, only what they are called here. */
function fixUpstream({ upstream, kind, ownName }: { upstream: string; kind: NamedKind; ownName: string }): string {
  const entry = `its entry in "mcpServers"`
  if (kind === 'tool') {
    const named = `"tools": { ${JSON.stringify(ownName)}: { "name": "…" } }`
    const prefixed = 'Where it is given no name there, "prefix": "…" for all that this server has does as well.'
    return `Give it another name in the entry "${upstream}" of "mcpServers": ${named}. ${prefixed}`
  }
  if (kind === 'prompt')
    return `Give all that "${upstream}" has another beginning, with "prefix" in ${entry}, or leave out its prompts: "prompts": false.`
  if (kind === 'capability') return `Give ${entry} another key than "${upstream}". Agents then have it by that one.`
  return fixHere(kind)
}

/** Declarations make a capability together, and none may add to a programmed one. */
export function capabilityTaken({ path, capability, ...origin }: Declaration, first: Origin): Problem {
  const text = `declaration "${path}": capability "${capability}" is that of ${first.unit} (${first.source}), which stays as it is.`
  const fix = 'Say another "capability", or move the file to another folder.'
  return { ...misfit(origin, `declaration:${path}`, 'capability', text), fix }
}

/** A definition that says what it needs. */
interface Needing extends Origin {
  readonly requires: readonly string[]
}

/** What it requires and nothing defines. */
export function missingRequires(
  item: Needing,
  { kind, name }: { kind: string; name: string },
  dependencies: ReadonlyMap<string, Dependency>,
): Problem[] {
  const title = kind.charAt(0).toUpperCase() + kind.slice(1)
  return item.requires
    .filter(one => !dependencies.has(one))
    .map(one => {
      const hint = didYouMean(one, dependencies.keys())
      const text = `${title} "${name}" requires "${one}", which nothing defines.${hint}`
      return misfit(item, `${kind}:${name}`, 'requires', text)
    })
}

/** What it asks persons for and nothing declares. */
export function missingConsent(
  item: Origin & { readonly consent: readonly string[] },
  name: string,
  operations: ReadonlyMap<string, unknown>,
): Problem[] {
  return item.consent
    .filter(one => !operations.has(one))
    .map(one => {
      const hint = didYouMean(one, operations.keys())
      const text = `Tool "${name}" asks for "${one}", which no capability declares.${hint}`
      return misfit(item, `tool:${name}`, 'consent', text)
    })
}
