import { connectToOwner, openDataFolder } from '../../adapters/data-folder/index.ts'
import { promptFor } from '../../adapters/prompt/index.ts'
import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import {
  type AgentCheck,
  type AgentConfig,
  type Answer,
  AppError,
  type CapabilityConfig,
  type Control,
  type ControlInput,
  type ControlOptions,
  DEFAULT_ORGANISATION,
  type NodeFacts,
  type Question,
  questionText,
  type StatusReport,
  type TokenFacts,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { agentViewOf, filterTools, listTools, refuseIssues, toolDetail } from '../../core/agents/index.ts'
import { type ConsentOperationDefinition, isOnceOnly } from '../../core/catalogue/index.ts'
import type { Delegations } from '../../core/delegation/index.ts'
import type { ExternalPeers } from '../../core/external-peers/index.ts'
import { didYouMean, suggestOrList, withoutSucceededMeta } from '../../core/kernel/index.ts'
import type { Memory } from '../../core/memory/index.ts'
import type { Organisation, Tokens } from '../../core/organisation/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { VERSION } from '../package-info.ts'
import { storePlace } from '../project/store-choice.ts'
import { createUpstreamControl } from '../upstreams/upstream-control.ts'
import {
  asUpstreams,
  recheckWithUpstreams,
  unseenUpstreams,
  withoutRetries,
  withSteps,
} from '../upstreams/upstream-status.ts'
import { createDocsControl } from './docs.ts'
import { diagnose } from './doctor.ts'
import { createEventFeed, type EventFeed } from './events.ts'
import { createLogins } from './logins.ts'
import { createConsentControl, createFollower, createOperationControl, OWNER, ownersWithin } from './operations.ts'
import { createOrganisationControl } from './organisation.ts'
import { type UpControl, WITHOUT_UP } from './up-only.ts'

/** What a control needs besides the runtime. */
export interface ControlParts {
  readonly from: StatusReport['from']
  isReady(): boolean
  /** The services of the store, which is opened when the first is needed: most commands do without. */
  tokens(): Promise<Tokens>
  organisation(): Promise<Organisation>
  memory(): Promise<Memory>
  delegations(): Promise<Delegations>
  peers(): Promise<ExternalPeers>
  /** Whether the store answers; absent where it is not open. */
  storeAnswers?(): Promise<boolean>
  /** The processes that share the store; absent where it is not open, or cannot be shared. */
  nodes?(): Promise<NodeFacts[] | undefined>
  /** What only an `up` can answer; refused when absent. */
  readonly up?: UpControl
  /** The events for followers; a new feed when absent. */
  readonly feed?: EventFeed
}

/** The control interface over a runtime in this process. */
export function createControl(runtime: Runtime, parts: ControlParts): Control {
  const { core } = runtime
  const { catalogue, health, agents, registry, calls, results } = core
  const within = ownersWithin(parts.organisation)
  const clock = createSystemClock()
  const feed = parts.feed ?? createEventFeed({ emitter: core.emitter, clock })
  return {
    status: async () => statusOf(runtime, parts),
    async tools({ agent, ...filter }) {
      const all = agent === undefined ? undefined : agents.session(agent).view().list()
      return filterTools(all ?? listTools(catalogue.current().tools.values(), health), filter)
    },
    tool: async ({ name }) => toolDetail(catalogue.tool(name), health),
    capabilities: async () => registry.knownCapabilities(),
    agents: async () => agents.list(),
    checkAgent: async ({ name }) => checkAgent(runtime, name),
    prompt: async ({ agent, ...options }) =>
      withSteps(promptFor(agentViewOf(agents.session(agent)), options), unseenUpstreams(runtime)),
    async grant(request) {
      const { file, config } = await grantCapability(runtime, request)
      await agents.reload()
      return { file, agent: config, check: checkAgent(runtime, request.agent) }
    },
    async call({ agent, waits = false, evenIfDisabled, ...given }, options = {}) {
      const { signal, onProgress, trace, openPage } = options
      // A client of `up` that disconnects may return for the result of a call with a key; `operations cancel` ends the call.
      const runsOn = parts.from === 'up' && given.idempotencyKey !== undefined
      const answer = await calls.call({
        ...given,
        input: given.input,
        whenDisabled: given.whenDisabled ?? (evenIfDisabled ? 'run' : undefined),
        session: agents.session(agent),
        unallowed: waits ? 'wait' : 'refuse',
        signal: runsOn ? undefined : signal,
        isDelivered: signal && (() => !signal.aborted),
        onProgress,
        trace,
        ask: openPage && ((question, wanted) => askForPage(question, asked => openPage(asked, wanted))),
        canAnswer: kind => kind === 'url',
      })
      return { ...answer, result: withoutSucceededMeta(answer.result) }
    },
    readResult: async ({ agent, resultId, offset }) => results.page(agents.session(agent).caller, resultId, offset),
    recheck: ({ name, force = false }) => recheckWithUpstreams(runtime, { name, force, from: parts.from }, clock),
    async createToken({ organisation: named, agent = '', person, ...facts }) {
      const { persons, tokens, ...places } = await parts.organisation()
      const organisation = await within(named)
      if (person !== undefined) return persons.issueToAny(organisation, person, facts)
      const holder = await holderNamed(runtime, places, { organisation, workspace: agent })
      return tokens.create({ organisation, agent: holder, ...facts })
    },
    async tokens({ organisation: named, agent }) {
      const organisation = await within(named)
      const found = (await parts.tokens()).list(organisation, agent)
      const missing = await withoutPlace(runtime, parts, { organisation, found })
      return found.map(facts => (missing.has(facts.agent) ? { ...facts, agentMissing: true } : facts))
    },
    revokeToken: async ({ id }) => (await parts.tokens()).revoke(id),
    rotateToken: async ({ id, overlapMs }) => (await parts.tokens()).rotate(id, { overlapMs }),
    ...createOrganisationControl(parts),
    ...(parts.up ?? WITHOUT_UP),
    ...createOperationControl({
      operations: core.operations,
      admin: core.operationAdmin,
      within,
      emitter: core.emitter,
    }),
    ...createConsentControl({
      consentServices: core.consentServices,
      within,
      operations: core.operations,
      by: OWNER,
      events: feed.all,
      follower: parts.from === 'process' ? createFollower(core) : undefined,
    }),
    ...createUpstreamControl({
      project: runtime.project,
      upstreams: runtime.upstreams,
      from: parts.from,
      agents,
      clock,
      originOf(capability) {
        const { capabilities, injections } = catalogue.current()
        const found = capabilities.get(capability) ?? injections.find(one => one.injection.key === capability)
        if (!found) return undefined
        return found.source === runtime.upstreams.source.id ? 'upstream' : 'other'
      },
      generation: () => catalogue.current(),
      definitionProblems: () => catalogue.problems(),
      dependencies: health.dependencies,
      reload: () => runtime.reload(),
      reloadDefinitions: catalogue.reload,
      ownUrl: async () => (await connectToOwner({ dir: runtime.project.dataDir }))?.url,
      ownHosts: () => runtime.project.allowedHosts(),
      openStore: parts.tokens,
      ensureDataFolder: () => openDataFolder(runtime.project.dataDir).ensure(),
    }),
    ...createLogins({
      auth: runtime.upstreamAuth,
      clock,
      ids: createIds(),
      upstream: name => runtime.project.upstreams().get(name),
      async expectAgent(workspace) {
        await holderNamed(runtime, await parts.organisation(), { organisation: DEFAULT_ORGANISATION, workspace })
      },
      onLoginChanged: owner => runtime.upstreams.loginChanged(owner),
    }),
    ...createDocsControl(runtime),
    reload: () => runtime.reload(),
    doctor: async () => diagnose(runtime, parts),
  }
}

/** The holder of a token: an agent of the folder, or the workspace of a remote agent. Throws `AGENT_NOT_FOUND`. */
async function holderNamed(
  { core: { agents } }: Runtime,
  { agentWorkspaces, workspaces }: Pick<Organisation, 'agentWorkspaces' | 'workspaces'>,
  { organisation, workspace: name }: Pick<WorkspaceRow, 'organisation' | 'workspace'>,
): Promise<string> {
  if (organisation !== DEFAULT_ORGANISATION) return (await workspaces.pick(organisation, name)).workspace
  // The token would be valid for the remote agent that has joined under this name.
  if (agentWorkspaces.isTaken(name)) throw new AppError('NAME_TAKEN', agentWorkspaces.problems().get(name) ?? '')
  const isRemote = !agents.has(name) && isElsewhere(await workspaces.named(organisation, name))
  return isRemote ? name : agents.entry(name).name
}

function isElsewhere(row: WorkspaceRow | undefined): boolean {
  return row?.status === 'active' && row.origin !== 'folder'
}

/** Names of neither an agent of the folder nor a workspace elsewhere: their tokens give no access. */
async function withoutPlace(
  { core: { agents } }: Runtime,
  { organisation: open }: ControlParts,
  { organisation, found }: { organisation: string; found: readonly TokenFacts[] },
): Promise<ReadonlySet<string | undefined>> {
  const isAgent = (name: string) => organisation === DEFAULT_ORGANISATION && agents.has(name)
  const absent = [...new Set(found.flatMap(({ agent }) => (agent === undefined || isAgent(agent) ? [] : [agent])))]
  if (absent.length === 0) return new Set()
  const { workspaces } = await open()
  const rows = await Promise.all(absent.map(name => workspaces.named(organisation, name)))
  return new Set(absent.filter((_, index) => !isElsewhere(rows[index])))
}

async function statusOf(runtime: Runtime, parts: ControlParts): Promise<StatusReport> {
  const { from, isReady } = parts
  const { storeChoice, dataDir } = runtime.project
  const place = await storePlace(storeChoice, dataDir)
  const { catalogue, health, agents } = runtime.core
  const generation = catalogue.current()
  const isActive = (tool: Parameters<typeof health.availability>[0]) => health.availability(tool).active
  const active = [...generation.tools.values()].filter(isActive).length
  const unseen = unseenUpstreams(runtime)
  return {
    version: VERSION,
    ready: isReady(),
    from,
    startedAt: runtime.startedAt,
    generation: generation.number,
    tools: { active, disabled: generation.tools.size - active },
    agents: agents.list().length,
    running: runtime.core.operations.running().length,
    dependencies: asUpstreams(health.dependencies(), withoutRetries(runtime.upstreams.statuses(), from)),
    problems: runtime.problems(),
    ...(unseen.length === 0 ? {} : { unseen }),
    store: { ...place, ...(await storeFacts(parts)) },
  }
}

/** The state of an open store. While it does not answer, it is not asked for the other processes. */
async function storeFacts({ storeAnswers, nodes }: ControlParts): Promise<{ answers?: boolean; nodes?: NodeFacts[] }> {
  if (!storeAnswers) return {}
  const answers = await storeAnswers()
  const known = answers ? await nodes?.() : undefined
  return known ? { answers, nodes: known } : { answers }
}

function checkAgent({ core: { agents } }: Runtime, name: string): AgentCheck {
  const { file } = agents.entry(name)
  const problems = agents.problems(name)
  const view = agents.session(name).view()
  return {
    name,
    file,
    ok: problems.every(problem => problem.severity !== 'error'),
    view: view.kind,
    report: view.report(),
    problems,
  }
}

/** A command line can open a page, but has no form to fill in and no model to sample. */
async function askForPage(question: Question, openPage: NonNullable<ControlOptions['openPage']>): Promise<Answer> {
  if (question.kind === 'url') return openPage(question)
  throw new AppError('ANSWER_UNAVAILABLE', `No client here can answer this: "${questionText(question)}"`)
}

/** Grants or revokes a capability in an agent's file. Writes nothing that would not resolve. */
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

/** The agent with this one capability: other faults of its file must not prevent the grant. */
function only(agent: AgentConfig, capability: string): AgentConfig {
  return { ...agent, capabilities: { [capability]: agent.capabilities[capability] ?? {} } }
}

function refuseUnknownConsent(names: readonly string[], known: readonly string[]): void {
  const unknown = names.find(name => !known.includes(name))
  if (unknown === undefined) return
  const hint = suggestOrList(unknown, known)
  throw new AppError('CONFIG_INVALID', `No capability declares the consent operation "${unknown}".${hint}`)
}

function refuseOnceOnly(names: readonly string[], known: ReadonlyMap<string, ConsentOperationDefinition>): void {
  const asked = names.find(name => isOnceOnly(known.get(name)))
  if (asked === undefined) return
  const message = `"${asked}" can be allowed for one call at a time only. Leave it out; answer with \`quartermaster approvals\`.`
  throw new AppError('CONFIG_INVALID', message)
}
