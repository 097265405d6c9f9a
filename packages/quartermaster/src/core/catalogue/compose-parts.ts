import { type Problem } from '../../contracts/index.ts'
import { commandUsage, didYouMean, upstreamOfUnit } from '../kernel/index.ts'
import { withCommand } from './check-tool.ts'
import { type CheckedUnit } from './check-unit.ts'
import { type ConsentOperationDefinition } from './definitions.ts'
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

/** Tools by command word: one tool, or one for every flag of it. */
export type CommandWords = Map<string, Tool[]>

/**
 * Returns the tool with its command, or without it and with the reason if an earlier tool has the command. It can still be called
 * by its name.
 */
export function withUniqueCommand(
  tool: Tool,
  { words, problems }: { words: CommandWords; problems: Problem[] },
  kind: SourceKind,
): Tool {
  const { command } = tool
  if ('none' in command) return tool
  const others = words.get(command.name) ?? []
  const clash = others.map(other => findClash(tool, other)).find(one => one !== undefined)
  if (!clash) {
    words.set(command.name, [...others, tool])
    return tool
  }
  // Tool names of a foreign server cannot be fixed here.
  if (kind !== 'upstream') problems.push(noCommandProblem(tool, clash))
  // The reason does not name the other tool, which the reader may not have. The problem names it for the person who fixes it.
  return withCommand(tool, { none: `${clash.why('another tool')}.` })
}

interface Clash {
  readonly first: Tool
  why(other: string): string
}

function findClash(tool: Tool, first: Tool): Clash | undefined {
  const [own, theirs] = [flagOf(tool), flagOf(first)]
  if (own === theirs) return { first, why: other => `The word "${commandText(tool)}" is taken by ${other}` }
  if (hasOption(tool, theirs))
    return { first, why: other => `Its option "--${theirs}" is the flag of ${other}, "${commandText(first)}"` }
  if (hasOption(first, own))
    return { first, why: other => `Its flag "--${own}" is an option of ${other}, "${commandText(first)}"` }
  return undefined
}

function hasOption(tool: Tool, flag: string | undefined): boolean {
  return flag !== undefined && commandUsage(tool)?.options.some(option => option.name === flag) === true
}

function flagOf({ command }: Tool): string | undefined {
  return 'none' in command ? undefined : command.flag
}

function commandText({ command }: Tool): string {
  if ('none' in command) return ''
  return command.flag === undefined ? command.name : `${command.name} --${command.flag}`
}

function noCommandProblem(tool: Tool, { first, why }: Clash): Problem {
  const message = `Tool "${tool.name}" has no command. ${why(`tool "${first.name}" of ${first.unit} (${first.source})`)}, and the earlier one stays.`
  return {
    ...definitionProblem(tool, `tool:${tool.name}`, 'command', message),
    severity: 'warning',
    fix: `Give it another word in "command", or go on calling it with: quartermaster call ${tool.name}`,
  }
}

export function uniqueConsentOperations(
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
        problems.push(definitionProblem(unit, `consent:${operation.name}`, 'consentOperations', text))
      }
    }
  }
  return taken
}

const FACTS = ['weight', 'reason', 'scope', 'grantable'] as const satisfies (keyof ConsentOperationDefinition)[]

/**
 * Warns about scopes that name an argument no tool has: the resource of every call stays unknown, so no grant can outlast one call.
 */
export function unusableScopes(units: readonly CheckedUnit[], tools: ReadonlyMap<string, Tool>): Problem[] {
  return units.flatMap(unit =>
    unit.consentOperations.flatMap(({ name, scope }) => {
      const users = [...tools.values()].filter(({ consent }) => consent.includes(name))
      return argumentsIn(typeof scope === 'string' ? scope : '')
        .filter(argument => users.length > 0 && users.every(tool => !mayTake(tool, argument)))
        .map(argument => unusableScope(unit, name, argument))
    }),
  )
}

/** The first name of each placeholder, as schemas often do not describe what is inside an argument. */
function argumentsIn(scope: string): string[] {
  const names = [...scope.matchAll(/\{([^{}]+)\}/g)].map(([, path = '']) => path.trim().split('.')[0] ?? '')
  return [...new Set(names)]
}

function mayTake({ inputSchema: { properties } }: Tool, argument: string): boolean {
  return typeof properties !== 'object' || properties === null || Object.hasOwn(properties, argument)
}

function unusableScope(unit: CheckedUnit, operation: string, argument: string): Problem {
  const message =
    `The scope of the consent operation "${operation}" names "${argument}", ` +
    'which no tool that asks for it takes. Each call can be allowed for itself only.'
  return { ...definitionProblem(unit, `consent:${operation}`, 'consentOperations', message), severity: 'warning' }
}

export type Owners = ReadonlyMap<string, NameOwner>

/**
 * Of two upstreams, the one that had a name first keeps it, whatever the order of start: agents that call it must not suddenly
 * reach another server. Only what is offered, or held back for review, keeps a name.
 */
export function findOwners(
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
      if ((isHeld || sound.has(key)) && (!first || claimedEarlier({ since, unit }, first)))
        owners.set(key, { source, unit, since, isHeld })
    }
  }
  return owners
}

/** Claims of the same moment are ordered by unit name, because the position may differ tomorrow or in another process. */
export function claimedEarlier(one: Claim, other: Claim): boolean {
  return one.since === other.since ? one.unit < other.unit : one.since < other.since
}

type Claim = Pick<NameOwner, 'since' | 'unit'>

function keyOf({ kind, name }: Pick<NameClaim, 'kind' | 'name'>): string {
  return `${kind}:${name}`
}

function namesIn({ tools, prompts }: CatalogueCapability): string[] {
  return [...tools.map(({ name }) => `tool:${name}`), ...prompts.map(({ name }) => `prompt:${name}`)]
}

export function otherOwner(
  owners: Owners,
  kind: NameClaim['kind'],
  { name, unit }: Origin & { name: string },
): NameOwner | undefined {
  const owner = owners.get(keyOf({ kind, name }))
  return owner?.unit === unit ? undefined : owner
}

export interface ComposedReadings {
  readonly prompts: Map<string, Prompt>
  readonly resources: Map<string, Resource>
  readonly dependencies: ReadonlyMap<string, Dependency>
  readonly problems: Problem[]
  /** Names owned by upstreams, set when the first upstream is added. */
  owners: Owners
}

/** Adds a capability's prompts and resources. What does not fit is left out with a problem. */
export function addReadings(
  { prompts, resources }: CatalogueCapability,
  known: ComposedReadings,
  kind: SourceKind,
): Pick<CatalogueCapability, 'prompts' | 'resources'> {
  return {
    prompts: prompts.filter(prompt =>
      addUnlessFaulty(known.prompts, prompt.name, prompt, promptFaults(prompt, known), known),
    ),
    resources: resources.filter(one =>
      addUnlessFaulty(known.resources, one.key, one, resourceFaults(one, known, kind), known),
    ),
  }
}

function addUnlessFaulty<T>(
  taken: Map<string, T>,
  key: string,
  item: T,
  faults: readonly Problem[],
  { problems }: ComposedReadings,
): boolean {
  problems.push(...faults)
  if (faults.length === 0 && !taken.has(key)) taken.set(key, item)
  return faults.length === 0
}

function promptFaults(prompt: Prompt, { prompts, dependencies, owners }: ComposedReadings): Problem[] {
  const { name } = prompt
  const first = prompts.get(name) ?? otherOwner(owners, 'prompt', prompt)
  const missing = missingRequires(prompt, { kind: 'prompt', name }, dependencies)
  return first ? [nameTaken('prompt', name, prompt, first), ...missing] : missing
}

function resourceFaults(
  resource: Resource,
  { resources, dependencies }: ComposedReadings,
  kind: SourceKind,
): Problem[] {
  const { key } = resource
  const first = resources.get(key)
  const missing = missingRequires(resource, { kind: 'resource', name: key }, dependencies)
  // URIs of foreign servers cannot be changed here, and most agents have only one of the two servers.
  const mayShare = kind === 'upstream' && first?.unit !== resource.unit
  return first && !mayShare ? [addressTaken(resource, first, kind), ...missing] : missing
}

function addressTaken(resource: Resource, first: Origin, kind: SourceKind): Problem {
  const { key, uri } = resource
  const text = `The address "${key}" is taken by ${first.unit} (${first.source}); the earlier one stays.`
  const field = uri === undefined ? 'uriTemplate' : 'uri'
  const fix =
    kind === 'upstream'
      ? 'Only the author of the server can give one of the two another address.'
      : 'Give one of the two another address.'
  return { ...definitionProblem(resource, `resource:${key}`, field, text), fix }
}

/** A problem of a definition that is valid but does not fit with the others. */
export function definitionProblem(origin: Origin, subject: string, field: string, message: string): Problem {
  return { severity: 'error', code: 'DEFINITION_INVALID', where: origin.unit, subject, field, message }
}

export type NamedKind = 'tool' | 'prompt' | 'capability' | 'injection' | 'dependency' | 'op' | 'unit'

/** Reports a name that is taken. For an upstream tool `ownName` is what the server calls it, as its entry uses that name. */
export function nameTaken(
  kind: NamedKind,
  name: string,
  origin: Origin & { readonly ownName?: string },
  first: Origin & { readonly isHeld?: boolean },
): Problem {
  const text = `The ${kind} name "${name}" is taken by ${first.unit} (${first.source}); ${whyKept(origin, first)}.`
  const upstream = upstreamOfUnit(origin.unit)
  const { ownName = name } = origin
  const fix = upstream === undefined ? fixHere(kind) : fixUpstream({ upstream, kind, ownName })
  return { ...definitionProblem(origin, `${kind}:${name}`, 'name', text), fix }
}

export function findNameClash(
  { tools, prompts, owners }: Pick<Generation, 'tools' | 'prompts' | 'owners'>,
  wanted: Origin & { readonly kind: 'tool' | 'prompt'; readonly name: string; readonly ownName: string },
): Problem | undefined {
  const { kind, name, unit } = wanted
  const first = (kind === 'tool' ? tools : prompts).get(name) ?? otherOwner(owners, kind, wanted)
  return first && first.unit !== unit ? nameTaken(kind, name, wanted, first) : undefined
}

function whyKept(origin: Origin, first: Origin & { readonly isHeld?: boolean }): string {
  if (first.isHeld) return 'it has the name now, and keeps it while its definition is held back'
  if (upstreamOfUnit(origin.unit) === undefined) return 'the earlier one stays'
  return upstreamOfUnit(first.unit) === undefined
    ? 'built-in and project definitions take precedence over servers'
    : 'it has the name now, and keeps it while it offers it'
}

/** The field that holds the name of each kind of definition. */
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

/** Names of a foreign server can only be changed in its entry. */
function fixUpstream({ upstream, kind, ownName }: { upstream: string; kind: NamedKind; ownName: string }): string {
  const entry = `its entry in "mcpServers"`
  if (kind === 'tool') {
    const named = `"tools": { ${JSON.stringify(ownName)}: { "name": "…" } }`
    const prefixed = 'Or give the server a "prefix": "…", which applies to all tools without a name there.'
    return `Give it another name in the entry "${upstream}" of "mcpServers": ${named}. ${prefixed}`
  }
  if (kind === 'prompt')
    return `Give the names of "${upstream}" another "prefix" in ${entry}, or leave out its prompts: "prompts": false.`
  if (kind === 'capability') return `Give ${entry} another key than "${upstream}". Agents then use that key.`
  return fixHere(kind)
}

/** Declarations share a capability, but cannot add to a programmed one. */
export function capabilityTaken({ path, capability, ...origin }: Declaration, first: Origin): Problem {
  const text = `declaration "${path}": capability "${capability}" is that of ${first.unit} (${first.source}), which stays as it is.`
  const fix = 'Choose another "capability", or move the file to another folder.'
  return { ...definitionProblem(origin, `declaration:${path}`, 'capability', text), fix }
}

export function missingRequires(
  item: Origin & { readonly requires: readonly string[] },
  { kind, name }: { kind: string; name: string },
  dependencies: ReadonlyMap<string, Dependency>,
): Problem[] {
  const title = kind.charAt(0).toUpperCase() + kind.slice(1)
  return item.requires
    .filter(one => !dependencies.has(one))
    .map(one => {
      const hint = didYouMean(one, dependencies.keys())
      const text = `${title} "${name}" requires "${one}", which nothing defines.${hint}`
      return definitionProblem(item, `${kind}:${name}`, 'requires', text)
    })
}

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
      return definitionProblem(item, `tool:${name}`, 'consent', text)
    })
}
