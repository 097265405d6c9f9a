import type { Settings } from '../../contracts/index.ts'
import type { Cancel, Clock, Emitter } from '../kernel/index.ts'
import type { AgentSession } from './agent-session.ts'
import type { View } from './view.ts'

/** Notifies listeners when a view changes: the first time immediately, then at most once per interval. */
export interface Announcer {
  follow(session: AgentSession, listener: (change: ViewChange) => void): Cancel
  stop(): void
}

/** The lists of a view that changed since the last notification. */
export interface ViewChange {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
}

type Versions = Pick<View, 'version' | 'promptsVersion' | 'resourcesVersion'>

interface Follower {
  readonly session: AgentSession
  readonly listener: (change: ViewChange) => void
  lastVersions: Versions
  /** Changes not notified yet, even if reverted since: a client that listed in between must list again. */
  pending: ViewChange
  quietUntil: number
  cancel: Cancel | undefined
}

/** Longest time to block the event loop: there may be thousands of agents. */
const TURN_MS = 5

export function createAnnouncer(deps: {
  emitter: Emitter
  clock: Clock
  settings: Pick<Settings, 'announceIntervalMs'>
}): Announcer {
  const { emitter, clock, settings } = deps
  const followers = new Set<Follower>()
  let isChecking = false
  let isStale = false

  function notifyIfChanged(follower: Follower): void {
    follower.cancel?.()
    follower.cancel = undefined
    const view = follower.session.view()
    const change = mergeChanges(follower.pending, changesSince(follower.lastVersions, view))
    if (!change.tools && !change.prompts && !change.resources) return
    const now = clock.now()
    if (now < follower.quietUntil) {
      follower.pending = change
      follower.cancel = clock.after(follower.quietUntil - now, () => notifyIfChanged(follower))
      return
    }
    follower.lastVersions = versionsOf(view)
    follower.pending = NOTHING
    follower.quietUntil = now + settings.announceIntervalMs
    follower.listener(change)
  }

  /** Changes come in bursts, so one pass serves all of them; changes during a pass cause another. */
  function schedulePass(): void {
    isStale = true
    if (!isChecking && followers.size > 0) void checkAll()
  }

  async function checkAll(): Promise<void> {
    isChecking = true
    while (isStale) {
      isStale = false
      await clock.breathe()
      let turnEnds = clock.now() + TURN_MS
      for (const follower of followers) {
        notifyIfChanged(follower)
        if (clock.now() < turnEnds) continue
        await clock.breathe()
        turnEnds = clock.now() + TURN_MS
      }
    }
    isChecking = false
  }

  const stops = [
    emitter.on('generation.swapped', schedulePass),
    emitter.on('dependency.changed', schedulePass),
    emitter.on('agents.reloaded', schedulePass),
  ]

  return {
    follow(session, listener) {
      const lastVersions = versionsOf(session.view())
      const follower: Follower = { session, listener, lastVersions, pending: NOTHING, quietUntil: 0, cancel: undefined }
      followers.add(follower)
      return () => {
        follower.cancel?.()
        followers.delete(follower)
      }
    },
    stop() {
      for (const stop of stops) stop()
      for (const follower of followers) follower.cancel?.()
      followers.clear()
    },
  }
}

/** Copies the versions, because a view references everything it was made from. */
function versionsOf({ version, promptsVersion, resourcesVersion }: View): Versions {
  return { version, promptsVersion, resourcesVersion }
}

const NOTHING: ViewChange = { tools: false, prompts: false, resources: false }

function mergeChanges(one: ViewChange, other: ViewChange): ViewChange {
  return {
    tools: one.tools || other.tools,
    prompts: one.prompts || other.prompts,
    resources: one.resources || other.resources,
  }
}

function changesSince(lastVersions: Versions, now: Versions): ViewChange {
  return {
    tools: lastVersions.version !== now.version,
    prompts: lastVersions.promptsVersion !== now.promptsVersion,
    resources: lastVersions.resourcesVersion !== now.resourcesVersion,
  }
}
