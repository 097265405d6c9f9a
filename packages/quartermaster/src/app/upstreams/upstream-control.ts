import { join } from 'node:path'
import type { LeftBehind, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { CONFIG_FILE, FIRST_AGENT, type ReleasedSecrets, type SetUpstream } from '../../adapters/project-files/index.ts'
import {
  type AddedUpstream,
  AppError,
  type Control,
  type ControlInput,
  type DependencyStatus,
  isAppError,
  type Problem,
  type RemovedUpstream,
  type ReviewItem,
  type StatusReport,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import { findNameClash, type Generation } from '../../core/catalogue/index.ts'
import { type Clock, suggestOrList, upstreamUnit } from '../../core/kernel/index.ts'
import { isLocked } from '../project/lazy-store.ts'
import type { Project } from '../project/project.ts'
import { grantUpstream, type Recipients, revokeUpstream, type UpstreamGrantDeps } from './upstream-grants.ts'
import { previewUpstream, secretsFileOf, withOutlines } from './upstream-preview.ts'
import { asHealthDecided, clashText, heirText, withOffered, withoutRetries } from './upstream-status.ts'

/** The part of the control that is about upstreams. */
type UpstreamControl = Pick<
  Control,
  | 'upstreams'
  | 'upstreamLogs'
  | 'restartUpstream'
  | 'reviewItems'
  | 'decideReview'
  | 'addUpstream'
  | 'setUpstreamConsent'
  | 'removeUpstream'
>

interface UpstreamControlDeps extends UpstreamGrantDeps {
  readonly project: Project
  readonly upstreams: Pick<
    Upstreams,
    | 'statuses'
    | 'logs'
    | 'restart'
    | 'review'
    | 'decide'
    | 'leftBehind'
    | 'forget'
    | 'readAgain'
    | 'met'
    | 'meet'
    | 'lookAgain'
  >
  readonly from: StatusReport['from']
  readonly agents: Pick<Agents, 'entry' | 'has' | 'reload'>
  readonly clock: Clock
  /** The present definitions and their problems. */
  generation(): Pick<Generation, 'capabilities' | 'tools' | 'prompts' | 'owners'>
  definitionProblems(): readonly Problem[]
  dependencies(): readonly DependencyStatus[]
  /** Reloads the whole configuration. */
  reload(): Promise<unknown>
  /** Reloads only the definitions. */
  reloadDefinitions(): Promise<unknown>
  /** The address of our own server, if it listens, and its other host names. */
  ownUrl(): Promise<string | undefined>
  ownHosts(): readonly string[]
  /** Opens the store before it is needed. Throws why it cannot be opened. */
  openStore(): Promise<unknown>
  /** Creates the data folder, for its owner only. */
  ensureDataFolder(): Promise<void>
}

/** A reachable server lists its definitions within this time. `add` waits no longer: `upstreams` shows the rest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 50
const USUAL_LINES = 100

export function createUpstreamControl(deps: UpstreamControlDeps): UpstreamControl {
  const { project, upstreams, clock } = deps
  const statuses = (): UpstreamStatus[] => {
    const usable = withoutRetries(asHealthDecided(upstreams.statuses(), deps.dependencies()), deps.from)
    const running = withOffered(usable, deps.generation(), deps.definitionProblems())
    return withOutlines(running, project, clock.now())
  }
  const find = (name: string) => statuses().find(status => status.name === name)
  const { readStored, takeIn, scan } = createUpstreamIntake(deps)

  function known(name: string): UpstreamStatus {
    const found = find(name)
    if (found) return found
    const names = statuses().map(status => status.name)
    const hint = suggestOrList(name, names)
    throw new AppError('NAME_UNKNOWN', `No upstream is named "${name}".${hint}`)
  }

  /** Adds what a person should know before deciding: its name is taken, or would go to another definition. */
  function withClash(item: ReviewItem): ReviewItem {
    const { kind, name: ownName, calledAs: name, upstream, state } = item
    // Without a known name there is no clash.
    if ((kind !== 'tool' && kind !== 'prompt') || name === undefined) return item
    const unit = upstreamUnit(upstream)
    const clash = findNameClash(deps.generation(), { source: 'upstreams', unit, kind, name, ownName })
    if (clash) return { ...item, clash: clashText(clash) }
    // A changed definition keeps its name, whatever is decided.
    const leavesIt = state === 'warned' || state === 'offered'
    const heir = leavesIt ? heirText({ upstream, kind, name }, deps.definitionProblems()) : undefined
    return heir === undefined ? item : { ...item, clash: heir }
  }

  /** Waits until it is no longer starting, and agents have its definitions. */
  async function settled(
    name: string,
    isAwaited: (status: UpstreamStatus) => boolean = () => false,
  ): Promise<UpstreamStatus | undefined> {
    const until = clock.now() + FIRST_LOOK_MS
    const isComing = (status = find(name)) => status?.state === 'starting' && (clock.now() < until || isAwaited(status))
    while (isComing()) await new Promise<void>(resolve => clock.after(LOOK_EVERY_MS, resolve))
    await takeIn()
    return find(name)
  }

  /** The stored data of an upstream without an entry. A capability may still name it. */
  async function leftBehind(name: string): Promise<LeftBehind | undefined> {
    // Its entry may just have been removed by hand.
    if (project.upstreams().has(name)) await deps.reload()
    return (await upstreams.leftBehind())?.find(one => one.name === name)
  }

  /** The stored data to delete for an upstream without an entry; `undefined` if it has one. Throws `NAME_UNKNOWN`. */
  async function withoutEntry(name: string): Promise<LeftBehind | undefined> {
    try {
      await project.configEditor.requireUpstream(name)
      return undefined
    } catch (error) {
      const isMissing = isAppError(error) && error.code === 'NAME_UNKNOWN'
      const left = isMissing ? await leftBehind(name) : undefined
      if (!left) throw error
      return left
    }
  }

  async function takeEntry(name: string, left: LeftBehind | undefined): Promise<TakenEntry> {
    if (!left) return await project.configEditor.removeUpstream(name)
    const file = project.configFile ?? join(project.projectDir, CONFIG_FILE)
    return { file, secrets: [], forgotten: { pins: left.pins, logins: left.logins } }
  }

  return {
    async upstreams() {
      await readStored()
      return statuses()
    },
    async upstreamLogs({ name, limit = USUAL_LINES }) {
      known(name)
      return upstreams.logs(name, { limit })
    },
    async restartUpstream({ name }, { signal } = {}) {
      known(name)
      await readStored()
      await upstreams.restart(name)
      // A process for one command ends with the command, so it waits for the whole start; a download is reported.
      const isAwaited = ({ isFetching }: UpstreamStatus) =>
        deps.from === 'process' && !isFetching && signal?.aborted !== true
      return (await settled(name, isAwaited)) ?? known(name)
    },
    async reviewItems({ name, ...options }) {
      if (name !== undefined) known(name)
      await scan()
      return (await upstreams.review(name, options)).map(withClash)
    },
    async decideReview(choice) {
      known(choice.upstream)
      const decided = await upstreams.decide(choice)
      await takeIn()
      return decided.map(withClash)
    },
    async addUpstream(request) {
      refuseTaken(request.name, deps)
      await refuseOurselves(request, deps)
      const recipients = await recipientsOf(request, deps)
      const now = Math.round(clock.now())
      if (request.dryRun) return await previewUpstream({ ...request, ...request.dryRun, recipients, now }, project)
      // If an `up` that starts has just locked the store, the caller asks that one. Other faults of the store can wait.
      await deps.openStore().catch(error => {
        if (isLocked(error)) throw error
      })
      const isFirst = project.configFile === undefined
      const { unneeded, spared, ...written } = await write(request, deps)
      await deps.reload()
      upstreams.meet(request.name, { isChanged: written.outcome === 'replaced' })
      const released = await releaseReplaced({ unneeded, spared }, written, deps)
      const { problems: ungranted, ...given } = await grantUpstream(request.name, recipients, deps)
      const wrong = project.problems().filter(problem => problem.subject === upstreamUnit(request.name))
      // The tools of a server that is up already have to be loaded before they are counted.
      const isLeft = request.wait === false && find(request.name)?.state === 'starting'
      const status = isLeft ? find(request.name) : await settled(request.name)
      const problems = [...wrong, ...ungranted]
      return {
        name: request.name,
        ...written,
        ...(isFirst && { madeFile: true }),
        ...secretsFileOf(written, project),
        ...released,
        ...(status && { status }),
        ...given,
        problems,
      }
    },
    async setUpstreamConsent({ names, consent }) {
      await project.configEditor.setConsent(names, consent)
      await deps.reload()
      await takeIn()
      return statuses().filter(({ name }) => names.includes(name))
    },
    async removeUpstream({ name, keepSecrets = false }) {
      // Before anything is written: without the store only half could be removed.
      await deps.openStore()
      const isOurs = deps.originOf(name) !== 'other'
      // If the agents cannot be read, nothing is changed.
      const holders = isOurs ? await project.agentFiles.load() : []
      const left = await withoutEntry(name)
      // Agents first, so that an interruption leaves no file that names a removed upstream.
      const revoked = await revokeUpstream(name, holders, deps)
      const { file, secrets, ...forgotten } = await takeEntry(name, left)
      await deps.reload()
      // An upstream added under this name later is a new one.
      await upstreams.forget(name)
      // Last, when no running server needs them.
      const released = await project.configEditor.releaseSecrets(secrets, { keep: keepSecrets })
      return { file, ...revoked, ...released, ...forgotten }
    },
  }
}

/** A removed entry. */
interface TakenEntry extends Pick<RemovedUpstream, 'file' | 'forgotten'> {
  /** The secrets it referred to. */
  readonly secrets: readonly string[]
}

function refuseTaken(name: string, { originOf }: UpstreamControlDeps): void {
  if (originOf(name) !== 'other') return
  throw new AppError(
    'NAME_TAKEN',
    `There is a capability "${name}" already, and it is no upstream. Choose another name.`,
  )
}

/** Every call to it would come back here. */
async function refuseOurselves({ entry }: ControlInput<'addUpstream'>, deps: UpstreamControlDeps): Promise<void> {
  // Loaded here, because nothing else of the control needs it.
  const { isOurProgram, leadsToUs } = await import('../../adapters/client-configs/index.ts')
  if (leadsToUs(entry, { url: await deps.ownUrl(), hosts: deps.ownHosts() }))
    throw new AppError(
      'INPUT_INVALID',
      'That is the address of this Quartermaster itself. Give the address of another server.',
    )
  if (isOurProgram(entry))
    throw new AppError(
      'INPUT_INVALID',
      'That command is Quartermaster itself: what it offers would come back here. Another one is added by its address.',
    )
}

/** The agents to grant it to. Checks named agents before anything is written. */
async function recipientsOf(
  { grant }: ControlInput<'addUpstream'>,
  { agents, project: { agentFiles } }: UpstreamControlDeps,
): Promise<Recipients> {
  if (grant === false) return { names: [] }
  if (grant === undefined && agents.has(FIRST_AGENT)) return { names: [FIRST_AGENT] }
  // In a project without agents the first agent is created and gets it.
  if (grant === undefined)
    return (await agentFiles.load()).length === 0 ? { names: [FIRST_AGENT], areFirst: true } : { names: [] }
  for (const name of grant) agents.entry(name)
  return { names: [...new Set(grant)] }
}

type Written = Pick<
  AddedUpstream,
  'file' | 'outcome' | 'consent' | 'secrets' | 'missing' | 'keptSettings' | 'goneSettings' | 'keptVersions'
>

async function write(
  { name, entry, secrets = {}, missing = [], replace = false, consent }: ControlInput<'addUpstream'>,
  { project: { configEditor }, ensureDataFolder }: UpstreamControlDeps,
): Promise<Written & Replaced> {
  if (Object.keys(secrets).length > 0) await ensureDataFolder()
  const written = await configEditor.setUpstream(name, entry, { replace, secrets, missing, consent })
  const { missing: notThere, secrets: kept, ...rest } = written
  return { ...rest, secrets: [...kept], ...(Object.keys(notThere).length > 0 && { missing: { ...notThere } }) }
}

/** The secrets of a replaced entry. */
type Replaced = Pick<SetUpstream, 'unneeded' | 'spared'>

/** Deletes them as for a removed entry, except the spared ones. */
async function releaseReplaced(
  { unneeded, spared }: Replaced,
  { missing }: Written,
  { project: { configEditor } }: UpstreamControlDeps,
): Promise<Partial<ReleasedSecrets>> {
  if (unneeded.length === 0 && Object.keys(spared).length === 0) return {}
  // One of them may be the value that is missing now.
  return configEditor.releaseSecrets(unneeded, { keep: missing !== undefined, spared })
}

/** Loads what upstreams list, before an answer about their state. Waits a while at most. */
function createUpstreamIntake({ upstreams, clock, generation, reloadDefinitions }: UpstreamControlDeps) {
  /** Whether agents lack definitions, or still have held ones. They get them in a moment; in a process that watches nothing, only by this. */
  function isBehind(): boolean {
    const { capabilities } = generation()
    return upstreams.statuses().some(({ name, state, unseen, tools }) => {
      const known = capabilities.get(name)
      const isListed = state === 'up' && unseen === undefined && known?.unseen !== undefined
      const isHeld = known?.unit === upstreamUnit(name) && known.tools.length > tools.offered
      return isListed || isHeld
    })
  }

  async function scanTools(): Promise<void> {
    await upstreams.lookAgain()
    if (isBehind()) await reloadDefinitions()
  }

  /** Descriptions may mention tools that are new now, and be held for it. */
  async function loadAndScan(): Promise<void> {
    await reloadDefinitions()
    await scanTools()
  }

  function inTime(work: () => Promise<void>): Promise<void> {
    return new Promise(resolve => {
      const cancel = clock.after(FIRST_LOOK_MS, resolve)
      const end = () => {
        cancel()
        resolve()
      }
      // A failing reload is reported by its own problems.
      work().then(end, end)
    })
  }

  return {
    /** Reads stored listings that agents do not have yet. Throws why they cannot be read. */
    async readStored(): Promise<void> {
      const isNew = await upstreams.readAgain()
      if (isNew) await upstreams.met(FIRST_LOOK_MS)
      if (isNew || isBehind()) await inTime(loadAndScan)
    },
    /** Resolves when agents have what upstreams list. */
    takeIn: () => inTime(loadAndScan),
    /** Resolves when descriptions were scanned for mentions of new tools. */
    scan: () => inTime(scanTools),
  }
}
