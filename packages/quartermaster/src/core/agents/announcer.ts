import type { Settings } from '../../contracts/index.ts'
import type { Cancel, Clock, Emitter } from '../kernel/index.ts'
import type { AgentSession } from './agent-session.ts'
import type { View } from './view.ts'

/** Notifies followers of a view that it changed: the first time at once, then at most once per interval. */
export interface Announcer {
  follow(session: AgentSession, listener: (change: ViewChange) => void): Cancel
  stop(): void
}

/** Which lists of a view are others than when its follower was last told. */
export interface ViewChange {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
}

type Versions = Pick<View, 'version' | 'promptsVersion' | 'resourcesVersion'>

interface Follower {
  readonly session: AgentSession
  readonly listener: (change: ViewChange) => void
  told: Versions
  /** What has changed since, even if it has changed back: a client that listed in between has to list again. */
  owed: ViewChange
  quietUntil: number
  cancel: Cancel | undefined
}

/** How long looking may hold the event loop at a stretch: there may be thousands of agents. */
const TURN_MS = 5

export function createAnnouncer(deps: {
  emitter: Emitter
  clock: Clock
  settings: Pick<Settings, 'announceIntervalMs'>
}): Announcer {
  const { emitter, clock, settings } = deps
  const followers = new Set<Follower>()
  let isLooking = false
  let isStale = false

  function look(follower: Follower): void {
    follower.cancel?.()
    follower.cancel = undefined
    const view = follower.session.view()
    const change = either(follower.owed, changeBetween(follower.told, view))
    if (!change.tools && !change.prompts && !change.resources) return
    const now = clock.now()
    if (now < follower.quietUntil) {
      follower.owed = change
      follower.cancel = clock.after(follower.quietUntil - now, () => look(follower))
      return
    }
    follower.told = versionsOf(view)
    follower.owed = NOTHING
    follower.quietUntil = now + settings.announceIntervalMs
    follower.listener(change)
  }

  /** Changes come in bursts, so one round of looks is enough for all of them; those during a round get another. */
  function lookSoon(): void {
    isStale = true
    if (!isLooking && followers.size > 0) void lookAtAll()
  }

  async function lookAtAll(): Promise<void> {
    isLooking = true
    while (isStale) {
      isStale = false
      await clock.breathe()
      let turnEnds = clock.now() + TURN_MS
      for (const follower of followers) {
        look(follower)
        if (clock.now() < turnEnds) continue
        await clock.breathe()
        turnEnds = clock.now() + TURN_MS
      }
    }
    isLooking = false
  }

  const stops = [
    emitter.on('generation.swapped', lookSoon),
    emitter.on('dependency.changed', lookSoon),
    emitter.on('agents.reloaded', lookSoon),
  ]

  return {
    follow(session, listener) {
      const told = versionsOf(session.view())
      const follower: Follower = { session, listener, told, owed: NOTHING, quietUntil: 0, cancel: undefined }
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

/** Only these: a view holds on to everything it was made from. */
function versionsOf({ version, promptsVersion, resourcesVersion }: View): Versions {
  return { version, promptsVersion, resourcesVersion }
}

const NOTHING: ViewChange = { tools: false, prompts: false, resources: false }

function either(one: ViewChange, other: ViewChange): ViewChange {
  return {
    tools: one.tools || other.tools,
    prompts: one.prompts || other.prompts,
    resources: one.resources || other.resources,
  }
}

function changeBetween(told: Versions, now: Versions): ViewChange {
  return {
    tools: told.version !== now.version,
    prompts: told.promptsVersion !== now.promptsVersion,
    resources: told.resourcesVersion !== now.resourcesVersion,
  }
}
