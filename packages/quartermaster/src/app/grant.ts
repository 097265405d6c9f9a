import { type AgentConfig, AppError, type CapabilityConfig, type ControlInput } from '../contracts/index.ts'
import { refuseIssues } from '../core/agents/index.ts'
import { type ConsentOperationDefinition, isOnceOnly } from '../core/catalogue/index.ts'
import { didYouMean, whichThereAre } from '../core/kernel/index.ts'
import type { Runtime } from './runtime.ts'

/** Gives an agent a capability, or takes it away, in its file. Nothing is written that would not resolve. */
export async function grantCapability({ core, project }: Runtime, request: ControlInput<'grant'>) {
  const change = (before: AgentConfig): AgentConfig => {
    const after = request.revoke ? revoked(before, request) : granted(before, request)
    if (!request.revoke) refuseIssues(core.agents.issuesWith(request.agent, only(after, request.capability)))
    const { consentOperations } = core.catalogue.current()
    refuseUnknownConsent(request.consent ?? [], [...consentOperations.keys()])
    if (!request.revoke) refuseOnceOnly(request.consent ?? [], consentOperations)
    return after
  }
  return project.agentFiles.edit(request.agent, change, { create: request.create ?? false })
}

function granted(agent: AgentConfig, { capability, tools, config, consent }: ControlInput<'grant'>): AgentConfig {
  const before = agent.capabilities[capability] ?? {}
  const entry: CapabilityConfig = { ...before, ...config, ...(tools ? { tools } : {}) }
  const after = { ...agent, capabilities: { ...agent.capabilities, [capability]: entry } }
  if (!consent) return after
  return { ...after, consent: { allow: [...new Set([...(agent.consent?.allow ?? []), ...consent])] } }
}

function revoked(agent: AgentConfig, { agent: name, capability, consent }: ControlInput<'grant'>): AgentConfig {
  if (!Object.hasOwn(agent.capabilities, capability)) {
    const hint = didYouMean(capability, Object.keys(agent.capabilities))
    throw new AppError('CAPABILITY_UNKNOWN', `Agent "${name}" does not have "${capability}".${hint}`)
  }
  const { [capability]: _revoked, ...capabilities } = agent.capabilities
  const after = { ...agent, capabilities }
  if (!consent) return after
  return { ...after, consent: { allow: (agent.consent?.allow ?? []).filter(name => !consent.includes(name)) } }
}

/** The agent with this one capability: what else is wrong with its file must not stand in the way. */
function only(agent: AgentConfig, capability: string): AgentConfig {
  return { ...agent, capabilities: { [capability]: agent.capabilities[capability] ?? {} } }
}

function refuseUnknownConsent(names: readonly string[], known: readonly string[]): void {
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return
  const hint = whichThereAre(unknown, known)
  throw new AppError('CONFIG_INVALID', `No capability declares the consent operation "${unknown}".${hint}`)
}

function refuseOnceOnly(names: readonly string[], known: ReadonlyMap<string, ConsentOperationDefinition>): void {
  const asked = names.find(name => isOnceOnly(known.get(name)))
  if (asked === undefined) return
  const message = `"${asked}" can be allowed for one call at a time only. Leave it out; answer with \`quartermaster approvals\`.`
  throw new AppError('CONFIG_INVALID', message)
}
