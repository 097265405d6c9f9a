import type { OrganisationDoor } from '../adapters/http/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import type { Settings, Skill } from '../contracts/index.ts'
import { createOrganisationDesk } from '../core/organisation/index.ts'
import type { OpenedStore } from './open-store.ts'
import type { Runtime } from './runtime.ts'
import { VERSION } from './version.ts'

export interface OrganisationDoorParts {
  readonly runtime: Pick<Runtime, 'core'>
  readonly store: Pick<OpenedStore, 'store' | 'organisation'>
  readonly settings: Settings
  /** Somebody with a token is there. */
  onVisit(): void
}

/** The API for organisations, over the store and the agents of this folder. */
export function organisationDoor(parts: OrganisationDoorParts): OrganisationDoor {
  const { runtime, store: opened, settings, onVisit } = parts
  const { store, organisation } = opened
  const clock = createSystemClock()
  const skillsOf = (agent: string) => skillsIn(runtime, agent)
  return {
    desk: createOrganisationDesk({ organisation, store, clock, skillsOf, version: VERSION }),
    identify(token) {
      onVisit()
      return organisation.identify(token)
    },
    expectOrganisation: name => organisation.organisations.expect(name),
    clock,
    settings,
  }
}

/** What an agent can do is what its view has. */
function skillsIn({ core: { agents } }: Pick<Runtime, 'core'>, agent: string): Skill[] | undefined {
  if (!agents.has(agent)) return undefined
  const { tools } = agents.seat(agent).view()
  return tools.map(({ tool }) => ({ id: tool.name, name: tool.title ?? tool.name, description: tool.short }))
}
