import {
  messageOf,
  type ReviewItem,
  type UpstreamConfig,
  type UpstreamLogLine,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import type { Source } from '../../core/catalogue/index.ts'
import type { Clock, Log } from '../../core/kernel/index.ts'
import { type Decision, type ListOptions, type LoginOwner, wantsDefinition } from '../../core/upstreams/index.ts'
import type { FirstMeetings } from './first-meetings.ts'
import { createGuests, type GuestRequest } from './guests.ts'
import { createLateParts, type UpstreamParts } from './late-parts.ts'
import { createMounts, type MountChanges, type StartChoice } from './mounts.ts'
import { createUpstreamSource } from './upstream-source.ts'

/** Which of the things that wait for a person. */
export type ReviewChoice = Omit<Decision, 'by'>

/** What the store has of an upstream that is not there: how many pins, and how many logins. */
export interface LeftBehind {
  readonly name: string
  readonly pins: number
  readonly logins: number
}

/** The MCP servers of others, mounted. */
export interface Upstreams extends FirstMeetings {
  /** What they bring. Loading it waits for none of them. */
  readonly source: Source
  /** Takes the configuration as it is now: what is new is started, what is gone stopped, what changed restarted. Answers which. */
  configure(configs: ReadonlyMap<string, UpstreamConfig>): Promise<MountChanges>
  /** Notes that a capability names a server; it is mounted beside those that are configured. Answers whether there is room. */
  mount(request: GuestRequest): boolean
  /** Ends what an earlier run has left behind, also where there is no upstream any more. */
  clearTheWay(): Promise<void>
  statuses(): UpstreamStatus[]
  /** The newest lines, oldest first. Throws `NAME_UNKNOWN`. */
  logs(name: string, options: { limit: number }): UpstreamLogLine[]
  /** Ends its connections and starts anew, backoff or not. Throws `NAME_UNKNOWN`. */
  restart(name: string): Promise<void>
  /** Somebody has signed in or out there, or one agent has. Calls under way end on what they began with. Throws `NAME_UNKNOWN`. */
  signedAnew(owner: LoginOwner): Promise<void>
  /**
   * There is no such agent any more, or it has lost this one, or the capability that names some: whatever runs there for it alone
   * ends, once its calls have. Those that were not sent yet never are.
   */
  dismiss(agent: string, lost?: string): void
  /** What waits for a person, what one has refused, and what is offered with a warning. */
  review(name?: string, options?: ListOptions): Promise<ReviewItem[]>
  /** A person has decided. Answers what was decided on. Throws `NAME_UNKNOWN` for what does not wait. */
  decide(choice: ReviewChoice): Promise<ReviewItem[]>
  /** Somebody may have decided in another process: what is offered is judged anew by what is on record. */
  recall(): Promise<void>
  /** There are tools that were not there before: what servers say of tools of others is looked at again. */
  lookAgain(): Promise<void>
  /** What the store has of those that are neither configured nor named by a capability now. By name. */
  leftBehind(): Promise<LeftBehind[]>
  /** As if it had never been seen or signed in to. For one that is not configured any more. */
  forget(name: string): Promise<void>
  /** Starts them, and what comes later as well. Waits for none of it. */
  start(which: StartChoice): void
  /** Starts one that nobody has seen yet, or not as it is now, also one that may have to be downloaded first. Waits for nothing. */
  meet(name: string, how: { isChanged: boolean }): void
  /**
   * Where a command alone uses them: reads what could not be read when they were mounted, and answers whether there was any.
   * Throws why it still cannot be read.
   */
  readAgain(): Promise<boolean>
  stop(): Promise<void>
}

export interface UpstreamsDeps {
  readonly clock: Clock
  readonly log: Log
  /** Made when the first one comes: most of it is of no use to whoever has no upstream. The same ones every time. */
  parts(): Promise<UpstreamParts>
}

export function createUpstreams(deps: UpstreamsDeps): Upstreams {
  const { log } = deps
  const guests = createGuests()
  const parts = createLateParts(deps)
  const { source, changed } = createUpstreamSource({ ready, upstreams: () => mounts.all() })
  const mounts = createMounts({ ...deps, parts: parts.get, onChange: changed })
  let configured: ReadonlyMap<string, UpstreamConfig> = new Map()

  async function ready(): Promise<void> {
    if (guests.age()) adoptGuests()
    await mounts.adopted()
  }

  const configs = () => new Map([...guests.configs(), ...configured])

  /** With what agents would call it, where that is known. */
  function withName(item: ReviewItem): ReviewItem {
    const name = mounts
      .all()
      .find(one => one.name === item.upstream)
      ?.nameOf(item.kind, item.name)
    return name === undefined ? item : { ...item, calledAs: name }
  }

  function adopt(): Promise<MountChanges> {
    const beside = configured
    return mounts.adopt(async () => new Map([...(await guests.settled(namesBefore)), ...beside]))
  }

  /** Where that cannot be read it is told of when the server is mounted. */
  async function namesBefore(server: string): Promise<readonly string[] | undefined> {
    const { pins } = await parts.get()
    return pins.namesOf(server).catch(() => undefined)
  }

  function adoptGuests(): void {
    adopt().catch(error => {
      log.warn('servers that capabilities name could not be mounted', { error: messageOf(error) })
    })
  }

  return {
    source,
    configure(configs) {
      configured = configs
      return adopt()
    },
    mount(request) {
      const asked = guests.ask(request)
      if (asked === 'changed') adoptGuests()
      return asked !== 'full'
    },
    async clearTheWay() {
      await parts.get().catch(error => log.warn('the way could not be cleared', { error: messageOf(error) }))
    },
    statuses: mounts.statuses,
    logs: (name, { limit }) => mounts.find(name).logs(limit),
    restart: mounts.restart,
    signedAnew: ({ upstream, agent }) => mounts.find(upstream).signedAnew(agent),
    dismiss(agent, lost) {
      mounts.dismiss(agent, lost)
      if (lost !== undefined) for (const name of guests.namedBy(lost)) mounts.dismiss(agent, name)
      if (guests.leave(agent, lost)) adoptGuests()
    },
    async review(name, options) {
      if (name !== undefined) mounts.find(name)
      const { pins } = await parts.get()
      const known = configs()
      const items = (await pins.list(name, options)).filter(item => isWanted(item, known.get(item.upstream)))
      const isShown = (item: ReviewItem) => item.state !== 'warned' || isTold(known.get(item.upstream))
      const shown = options?.offered
        ? items.map(item => (isShown(item) ? item : { ...item, state: 'offered' as const }))
        : items.filter(isShown)
      return shown.map(withName)
    },
    async decide(choice) {
      const upstream = mounts.find(choice.upstream)
      const { pins } = await parts.get()
      return (await upstream.review(() => pins.decide({ ...choice, by: 'owner' }))).map(withName)
    },
    async recall() {
      await Promise.all(mounts.all().map(upstream => upstream.review(async () => {})))
    },
    async lookAgain() {
      await Promise.all(mounts.all().map(upstream => upstream.lookAgain()))
    },
    async leftBehind() {
      const { pins, memory, auth } = await parts.get()
      const [pinned, seen, signedIn] = await Promise.all([pins.amounts(), memory.names(), auth.amounts()])
      const known = configs()
      const names = new Set([...pinned.keys(), ...seen, ...signedIn.keys()])
      return [...names]
        .filter(name => !known.has(name))
        .toSorted()
        .map(name => ({ name, pins: pinned.get(name) ?? 0, logins: signedIn.get(name) ?? 0 }))
    },
    async forget(name) {
      const { pins, memory, auth } = await parts.get()
      await Promise.all([pins.forget(name), memory.forget(name), auth.forgetAll(name)])
    },
    start: mounts.start,
    met: mounts.met,
    isComing: mounts.isComing,
    onState: mounts.onState,
    meet: mounts.meet,
    meetNow: mounts.meetNow,
    meetOnly: mounts.meetOnly,
    meetAgain: mounts.meetAgain,
    download: mounts.download,
    readAgain: mounts.readAgain,
    async stop() {
      await mounts.stop()
      await parts.close()
    },
  }
}

/**
 * What the owner leaves out waits for nobody: accepted, it would not be offered either. Neither does what is of a server that is
 * not configured and that no capability names: nobody could decide about it. Both do when they are there again.
 */
function isWanted(item: ReviewItem, config: UpstreamConfig | undefined): boolean {
  return config !== undefined && wantsDefinition(config, item)
}

/** Whoever allows what is found is not told of it. */
function isTold(config: UpstreamConfig | undefined): boolean {
  return config !== undefined && config.findings !== 'allow'
}
