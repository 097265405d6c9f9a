import type { A2aFront } from '../adapters/a2a/index.ts'
import type { ApiDoor, Mount } from '../adapters/http/index.ts'
import { createIds } from '../adapters/system/index.ts'
import type { Settings, Skill, WorkspaceRow } from '../contracts/index.ts'
import { type Log, remembered } from '../core/kernel/index.ts'
import type { OpenedStore } from './open-store.ts'
import { VERSION } from './version.ts'

export interface A2aParts {
  readonly store: Pick<OpenedStore, 'clock' | 'delegations' | 'messages' | 'organisation'>
  readonly settings: Settings
  readonly log: Log
  /** Whoever gets in there gets in here. */
  readonly door: Required<Pick<ApiDoor, 'identify' | 'onAccessChange'>>
  skillsOf(place: Pick<WorkspaceRow, 'organisation' | 'workspace'>): Skill[] | undefined
}

/** Every workspace as an A2A agent, and everything below it. */
export function a2aMounts(parts: A2aParts): Mount[] {
  // With the first request: most that start never have one.
  const front = remembered(() => openFront(parts))
  const handle: Mount['handle'] = async (request, gone) => (await front()).answer(request, gone)
  return [
    { path: '/a2a/:workspace', handle },
    // Clients that look for the card below an address have the address with a slash.
    { path: '/a2a/:workspace/', handle },
    { path: '/a2a/:workspace/:rest{.+}', handle },
  ]
}

async function openFront({ store, settings, log, door, skillsOf }: A2aParts): Promise<A2aFront> {
  const { createA2aFront } = await import('../adapters/a2a/index.ts')
  return createA2aFront({
    ...store,
    ...door,
    ids: createIds(),
    log,
    settings,
    skillsOf,
    version: VERSION,
  })
}
