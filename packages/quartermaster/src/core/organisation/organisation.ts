import type { Settings, WorkspaceFacts, WorkspaceRow } from '../../contracts/index.ts'
import { type Clock, createEmitter, type Digest, type Emitter, type Ids, type Log } from '../kernel/index.ts'
import type { Store } from '../store/index.ts'
import { workspaceFacts } from './facts.ts'
import { createJoinCodes, type JoinCodes } from './join-codes.ts'
import { createOrganisations, type Organisations } from './organisations.ts'
import { createPersons, type Persons } from './persons.ts'
import { type NamedPlace, placesIn } from './places.ts'
import { createPresence, type PresenceBook } from './presence.ts'
import { createSeats, type Seats } from './seats.ts'
import type { Tokens } from './tokens.ts'
import { identify, type Visitor } from './visitors.ts'
import { createWorkspaces, type Workspaces } from './workspaces.ts'

/** Organisations, their workspaces and persons, over one store. */
export interface Organisation {
  readonly organisations: Organisations
  readonly workspaces: Workspaces
  readonly persons: Persons
  readonly joinCodes: JoinCodes
  readonly presence: PresenceBook
  readonly seats: Seats
  readonly tokens: Tokens
  /** `workspace.changed` and `presence.changed`. */
  readonly events: Pick<Emitter, 'on'>
  /** Whose token this is, by what counts at this moment. */
  identify(token: string): Promise<Exclude<Visitor, { kind: 'owner' }> | undefined>
  /** Calls back when somebody's access may have ended: whoever waits for or follows something is looked at again. */
  onAccessChange(look: () => void): () => void
  /** The places of every organisation: all of them, or those whose workspaces have these ids. */
  places(ids?: readonly string[]): Promise<NamedPlace[]>
  /** A workspace as it is shown. */
  factsOf(row: WorkspaceRow): Promise<WorkspaceFacts>
  /** Makes what must be there, and goes on with who was there not long ago. */
  load(): Promise<void>
  stop(): Promise<void>
}

export interface OrganisationDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly log: Log
  readonly tokens: Tokens
  /** Which data folder this process has: it archives none that another one has seated. */
  readonly folder: string
  readonly settings: Pick<Settings, 'workspaceDepth' | 'awaySeconds' | 'offlineSeconds' | 'joinCodeHours'>
}

export function createOrganisation(deps: OrganisationDeps): Organisation {
  const { log, tokens } = deps
  const emitter = createEmitter({
    onError: (error, event) => log.error('a listener failed', { event, error: String(error) }),
  })
  const organisations = createOrganisations({ ...deps, onRoot: root => workspaces.tell(root) })
  const presence = createPresence({ ...deps, emitter })
  const workspaces = createWorkspaces({ ...deps, emitter, isAgent: name => seats.isAgent(name) })
  const seats: Seats = createSeats({ ...deps, workspaces })
  return {
    organisations,
    workspaces,
    presence,
    tokens,
    persons: createPersons(deps),
    joinCodes: createJoinCodes({ ...deps, workspaces, seats }),
    seats,
    events: emitter,
    identify: token => identify(token, { tokens, workspaces }),
    onAccessChange(look) {
      const offs = [tokens.onRevoked(look), emitter.on('workspace.changed', look)]
      return () => {
        for (const off of offs) off()
      }
    },
    places: ids => placesIn(deps.store, ids),
    factsOf: async row => workspaceFacts(row, await workspaces.above(row), presence),
    async load() {
      await organisations.ensureFirst()
      await seats.load()
      await presence.load()
    },
    stop: () => presence.stop(),
  }
}
