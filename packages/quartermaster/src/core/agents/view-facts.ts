import type { AgentView, ViewedTool, ViewKind } from '../../contracts/index.ts'
import { type Generation, type Tool, titleFrom } from '../catalogue/index.ts'
import { type Health, missingInWords } from '../health/index.ts'
import { commandUsage, fieldsOf, line } from '../kernel/index.ts'
import type { Grant, Resolution } from './grants.ts'
import { heldTools, unseenCapabilities } from './withheld-tool.ts'

export interface ViewFactsParts {
  readonly kind: ViewKind
  readonly presented: readonly Grant[]
  readonly grants: Resolution['grants']
  readonly withheld: Resolution['withheld']
  readonly refused: Resolution['refused']
  readonly generation: Generation
  readonly health: Pick<Health, 'availability' | 'missing'>
  /** Consent operations the owner allows for good. */
  readonly allowed: readonly string[]
}

/** What an agent has, in words. What leads to the rest in the gateway view comes first. */
export function viewFacts(parts: ViewFactsParts): Omit<AgentView, 'agent'> {
  const { kind, presented, grants, generation } = parts
  const added = presented.filter(({ tool }) => !grants.has(tool.name))
  const all = kind === 'gateway' ? [...added, ...grants.values()] : [...grants.values(), ...added]
  const keys = new Set(all.map(({ capability }) => capability))
  const sections = new Set(all.map(({ tool }) => tool.section))
  const listed = new Set(presented.map(({ tool }) => tool.name))
  const unseen = unseenCapabilities(parts)
  const withheld = heldTools(parts)
  return {
    view: kind,
    capabilities: [...keys].map(key => capabilityFacts(key, generation)),
    sections: [...sections].map(key => ({ key, title: sectionTitle(key, all, generation) })),
    tools: all.map(grant => toolFacts(grant, listed.has(grant.tool.name), parts)),
    ...(unseen.length > 0 ? { unseen } : {}),
    ...(withheld.length > 0 ? { withheld } : {}),
  }
}

/** A section that is a capability is called as that one, and what comes by itself as what brought it. */
function sectionTitle(section: string, grants: readonly Grant[], { capabilities, injections }: Generation): string {
  const known = capabilities.get(section)
  if (known) return known.title
  const from = new Set(grants.filter(({ tool }) => tool.section === section).map(({ capability }) => capability))
  const keys = new Set(injections.map(({ injection }) => injection.key))
  const areInjected = !from.has(section) && [...from].every(key => keys.has(key))
  return areInjected ? [...from].map(titleFrom).join(' and ') : titleFrom(section)
}

function capabilityFacts(key: string, { capabilities, injections }: Generation): AgentView['capabilities'][number] {
  const { title, short } = capabilities.get(key) ?? { title: titleFrom(key), short: '' }
  const injected = injections.find(({ injection }) => injection.key === key)
  return { key, title, short: injected?.injection.short ?? short }
}

function toolFacts({ tool, capability }: Grant, listed: boolean, parts: ViewFactsParts): ViewedTool {
  const { name, title, short, whenToUse, section, command, mutates } = tool
  const { active } = parts.health.availability(tool)
  return {
    name,
    title,
    short,
    whenToUse,
    section,
    capability,
    ...(active ? { state: 'active' } : { state: 'disabled', reason: missingInWords(parts.health.missing(tool)) }),
    listed,
    mutates,
    mayWait: tool.retry !== 'manual' || tool.consent.some(operation => !parts.allowed.includes(operation)),
    tellsOfWaiting: tellsOfWaiting(capability, parts.generation),
    leadsToOthers: leadsToOthers(capability, parts.generation),
    shell: shellLine(tool),
    ...('none' in command ? { noCommand: command.none } : {}),
  }
}

/** Whatever is injected beside tools whose calls may have to wait is there to be asked about them. */
function tellsOfWaiting(capability: string, { injections }: Generation): boolean {
  return injections.some(({ injection: { key, modes } }) => key === capability && modes.includes('waiting'))
}

/** What comes with the gateway view and with nothing else is there because the others are not listed. */
function leadsToOthers(capability: string, { injections }: Generation): boolean {
  return injections.some(
    ({ injection: { key, modes } }) => key === capability && modes.every(mode => mode === 'gateway'),
  )
}

/** How a tool is called from a shell: by its own command, or by name like every other. */
function shellLine(tool: Tool): string {
  const usage = commandUsage(tool)
  if (usage) return `do ${usage.words}`
  const { inputSchema: schema } = tool
  const pairs = fieldsOf(schema, schema).map(({ key, isRequired }) => (isRequired ? `${key}=…` : `[${key}=…]`))
  return line(['call', tool.name, ...pairs].join(' '))
}
