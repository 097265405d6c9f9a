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
import { clashWith, type Generation } from '../../core/catalogue/index.ts'
import { type Clock, upstreamUnit, whichThereAre } from '../../core/kernel/index.ts'
import { isLocked } from '../project/lazy-store.ts'
import type { Project } from '../project/project.ts'
import { grantUpstream, type Recipients, revokeUpstream, type UpstreamGrantDeps } from './upstream-grants.ts'
import { previewUpstream, secretsFileOf, withOutlines } from './upstream-preview.ts'
import { asHealthDecided, clashText, heirText, withOffered, withoutRetries } from './upstream-status.ts'

/** The part of the control that is about the MCP servers of others. */
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
  readonly project: Pick<
    Project,
    | 'settings'
    | 'upstreams'
    | 'upstreamsLeftOut'
    | 'upstreamSecrets'
    | 'configFile'
    | 'configEditor'
    | 'agentFiles'
    | 'problems'
    | 'secrets'
    | 'projectDir'
    | 'dataDir'
    | 'env'
  >
  /** Absent where none are mounted; then the configuration answers. */
  readonly upstreams:
    | Pick<
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
    | undefined
  /** The process that keeps them; none, where a command looked by itself. */
  readonly from: StatusReport['from']
  readonly agents: Pick<Agents, 'entry' | 'has' | 'reload'>
  readonly clock: Clock
  /** All definitions as they are now, and what is wrong with them. */
  generation(): Pick<Generation, 'capabilities' | 'tools' | 'prompts' | 'owners'>
  definitionProblems(): readonly Problem[]
  /** What tools need, as it stands. */
  dependencies(): readonly DependencyStatus[]
  /** Takes the configuration in as it is now. */
  reload(): Promise<unknown>
  /** Takes in what upstreams bring now, and nothing else. */
  reloadDefinitions(): Promise<unknown>
  /** Where our own server listens, if it does, and by which other names it is reached. */
  ownUrl(): Promise<string | undefined>
  ownHosts(): readonly string[]
  /** Opens the store, which is otherwise done by whatever needs it first. Throws why it cannot be. */
  openStore(): Promise<unknown>
  /** Makes the data folder, for its owner only. */
  ensureDataFolder(): Promise<void>
}

/** A reachable server lists its definitions within this time. `add` waits no longer: `upstreams` shows the rest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 50
const USUAL_LINES = 100
const isNever = (_status: UpstreamStatus) => false

export function createUpstreamControl(deps: UpstreamControlDeps): UpstreamControl {
  const { project, upstreams, clock } = deps
  const felt = () => withoutRetries(asHealthDecided(upstreams?.statuses() ?? [], deps.dependencies()), deps.from)
  const running = () => withOffered(felt(), deps.generation(), deps.definitionProblems())
  const statuses = (): UpstreamStatus[] => withOutlines(running(), project, clock.now())
  const find = (name: string) => statuses().find(status => status.name === name)
  const { read, shown, judged } = createUpstreamIntake({ ...deps, waitMs: FIRST_LOOK_MS })

  function known(name: string): UpstreamStatus {
    const found = find(name)
    if (found) return found
    const names = statuses().map(status => status.name)
    const hint = whichThereAre(name, names)
    throw new AppError('NAME_UNKNOWN', `No upstream is named "${name}".${hint}`)
  }

  /** Tells a person who decides about it that it would not be offered even so, or that its calls go to another. */
  function withClash(item: ReviewItem): ReviewItem {
    const { kind, name: ownName, calledAs: name, upstream, state } = item
    // As long as its name is unknown, nothing is in its way.
    if ((kind !== 'tool' && kind !== 'prompt') || name === undefined) return item
    const unit = upstreamUnit(upstream)
    const clash = clashWith(deps.generation(), { source: 'upstreams', unit, kind, name, ownName })
    if (clash) return { ...item, clash: clashText(clash) }
    // What was changed keeps its name, whatever is decided.
    const leavesIt = state === 'warned' || state === 'offered'
    const heir = leavesIt ? heirText({ upstream, kind, name }, deps.definitionProblems()) : undefined
    return heir === undefined ? item : { ...item, clash: heir }
  }

  async function settled(name: string, isAwaited = isNever): Promise<UpstreamStatus | undefined> {
    const until = clock.now() + FIRST_LOOK_MS
    const isComing = (status = find(name)) => status?.state === 'starting' && (clock.now() < until || isAwaited(status))
    while (isComing()) await new Promise<void>(resolve => clock.after(LOOK_EVERY_MS, resolve))
    await shown()
    return find(name)
  }

  /** Of one that has no entry, what only the store knows. One that is mounted all the same is named by a capability. */
  async function leftBehind(name: string): Promise<LeftBehind | undefined> {
    // Its entry may have been taken out by hand, unnoticed so far.
    if (project.upstreams().has(name)) await deps.reload()
    return (await upstreams?.leftBehind())?.find(one => one.name === name)
  }

  /** What is to be forgotten of one without an entry; nothing of one that has one. Throws `NAME_UNKNOWN` for an unknown name. */
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
      await read()
      return statuses()
    },
    async upstreamLogs({ name, limit = USUAL_LINES }) {
      known(name)
      return upstreams?.logs(name, { limit }) ?? []
    },
    async restartUpstream({ name }, { signal } = {}) {
      known(name)
      await read()
      await mounted(upstreams).restart(name)
      // In a process for one command it has all its time to start; the command waits for a download, and says so.
      const isAwaited = ({ isFetching }: UpstreamStatus) =>
        deps.from === 'process' && !isFetching && signal?.aborted !== true
      return (await settled(name, isAwaited)) ?? known(name)
    },
    async reviewItems({ name, ...options }) {
      if (name !== undefined) known(name)
      await judged()
      return ((await upstreams?.review(name, options)) ?? []).map(withClash)
    },
    async decideReview(choice) {
      known(choice.upstream)
      const decided = await mounted(upstreams).decide(choice)
      await shown()
      return decided.map(withClash)
    },
    async addUpstream(request) {
      refuseTaken(request.name, deps)
      await refuseOurselves(request, deps)
      const recipients = await recipientsOf(request, deps)
      const now = Math.round(clock.now())
      if (request.dryRun) return await previewUpstream({ ...request, ...request.dryRun, recipients, now }, project)
      // Where an `up` that starts has just taken the store, that one adds it. What else is wrong with the store can wait.
      await deps.openStore().catch(error => {
        if (isLocked(error)) throw error
      })
      const isFirst = project.configFile === undefined
      const { unneeded, spared, ...written } = await write(request, deps)
      await deps.reload()
      upstreams?.meet(request.name, { isChanged: written.outcome === 'replaced' })
      const released = await releaseReplaced({ unneeded, spared }, written, deps)
      const { problems: ungranted, ...given } = await grantUpstream(request.name, recipients, deps)
      const wrong = project.problems().filter(problem => problem.subject === upstreamUnit(request.name))
      // One that is there already has brought its tools; to count them they have to be taken in.
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
      await shown()
      return statuses().filter(({ name }) => names.includes(name))
    },
    async removeUpstream({ name, keepSecrets = false }) {
      // Before anything is written: without the store only half of it could be done.
      await deps.openStore()
      const isOurs = deps.originOf(name) !== 'other'
      // Read first: where the agents cannot be read, nothing is done.
      const holders = isOurs ? await project.agentFiles.load() : []
      const left = await withoutEntry(name)
      // First, so that no file names what is gone, also where this is cut off half way.
      const revoked = await revokeUpstream(name, holders, deps)
      const { file, secrets, ...forgotten } = await takeEntry(name, left)
      await deps.reload()
      // Whatever is added under this name later is met for the first time.
      await upstreams?.forget(name)
      // Last, when nothing that runs needs them any more.
      const released = await project.configEditor.releaseSecrets(secrets, { keep: keepSecrets })
      return { file, ...revoked, ...released, ...forgotten }
    },
  }
}

/** What became of an entry that was to be taken out. */
interface TakenEntry extends Pick<RemovedUpstream, 'file' | 'forgotten'> {
  /** Those it referred to. */
  readonly secrets: readonly string[]
}

function mounted<T>(upstreams: T | undefined): T {
  if (upstreams !== undefined) return upstreams
  throw new AppError('DEPENDENCY_UNAVAILABLE', 'No upstream runs here. Start them: quartermaster up')
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

/** Checked before anything is written, where they were named. */
async function recipientsOf(
  { grant }: ControlInput<'addUpstream'>,
  { agents, project: { agentFiles } }: UpstreamControlDeps,
): Promise<Recipients> {
  if (grant === false) return { names: [] }
  if (grant === undefined && agents.has(FIRST_AGENT)) return { names: [FIRST_AGENT] }
  // In a project that begins with an upstream, the first agent has it. Beside other agents none is created.
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

/** The secrets of what was replaced. */
type Replaced = Pick<SetUpstream, 'unneeded' | 'spared'>

/** They go like those of what is removed, but for what is spared. */
async function releaseReplaced(
  { unneeded, spared }: Replaced,
  { missing }: Written,
  { project: { configEditor } }: UpstreamControlDeps,
): Promise<Partial<ReleasedSecrets>> {
  if (unneeded.length === 0 && Object.keys(spared).length === 0) return {}
  // One of them may be a value that could not be asked for this time.
  return configEditor.releaseSecrets(unneeded, { keep: missing !== undefined, spared })
}

/** Takes in what upstreams list, before an answer about their state. */
interface UpstreamIntake {
  /** Takes in what is known of upstreams and agents do not have yet. Throws why it cannot be read. */
  read(): Promise<void>
  /** Resolves when agents have what upstreams list, or after a while without it. */
  shown(): Promise<void>
  /** Resolves, in the same way, when what upstreams say of tools that came a moment ago has been looked at. */
  judged(): Promise<void>
}

interface UpstreamIntakeDeps {
  /** Absent where none are mounted. */
  readonly upstreams: Pick<Upstreams, 'statuses' | 'readAgain' | 'met' | 'lookAgain'> | undefined
  readonly clock: Clock
  /** How long an answer waits. */
  readonly waitMs: number
  generation(): Pick<Generation, 'capabilities'>
  /** Takes in what upstreams bring now. */
  reloadDefinitions(): Promise<unknown>
}

function createUpstreamIntake(deps: UpstreamIntakeDeps): UpstreamIntake {
  const { upstreams, clock, waitMs } = deps

  /** Agents get new definitions in a moment; in a process that watches nothing, only by this. */
  function isBehind(): boolean {
    const { capabilities } = deps.generation()
    return (upstreams?.statuses() ?? []).some(({ name, state, unseen, tools }) => {
      const known = capabilities.get(name)
      const isSeen = state === 'up' && unseen === undefined && known?.unseen !== undefined
      // What it says of others was held back since.
      const isHeld = known?.unit === upstreamUnit(name) && known.tools.length > tools.offered
      return isSeen || isHeld
    })
  }

  async function look(): Promise<void> {
    await upstreams?.lookAgain()
    if (isBehind()) await deps.reloadDefinitions()
  }

  /** Servers may speak of tools that were not there before, and be held back for it. */
  async function takeIn(): Promise<void> {
    await deps.reloadDefinitions()
    await look()
  }

  function inTime(work: () => Promise<void>): Promise<void> {
    return new Promise(resolve => {
      const cancel = clock.after(waitMs, resolve)
      const end = () => {
        cancel()
        resolve()
      }
      // Who told of the change has it reloaded as well, and says why that fails.
      work().then(end, end)
    })
  }

  return {
    async read() {
      const isNew = await upstreams?.readAgain()
      if (isNew) await upstreams?.met(waitMs)
      if (isNew || isBehind()) await inTime(takeIn)
    },
    shown: () => inTime(takeIn),
    judged: () => inTime(look),
  }
}
