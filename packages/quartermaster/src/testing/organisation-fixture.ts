import { createIds, sha256, silentLog } from '../adapters/system/index.ts'
import {
  type ApiAnswer,
  type ApiOperation,
  type ApiRequest,
  DEFAULT_ORGANISATION,
  DEFAULT_SETTINGS,
  type Events,
  type Settings,
} from '../contracts/index.ts'
import {
  type ApiCaller,
  createApiService,
  createOrganisation,
  createTokens,
  organisationHandlers,
} from '../core/organisation/index.ts'
import type { Store } from '../core/store/index.ts'
import { createFakeClock } from './fake-clock.ts'
import { faultyStorage } from './faulty-storage.ts'

export interface OrganisationFixtureOptions {
  readonly settings?: Partial<Settings>
  /** One in memory when absent. */
  readonly store?: Store
}

/** An organisation with a clock that stands still. */
export async function openOrganisation({ settings, store: given }: OrganisationFixtureOptions = {}) {
  const storage = faultyStorage()
  const store = given ?? storage.store
  const clock = createFakeClock()
  const ids = createIds()
  const make = async (folder = 'here') => {
    const tokens = createTokens({ store, clock, ids, digest: sha256 })
    await tokens.load()
    const all = { ...DEFAULT_SETTINGS, ...settings }
    const common = { store, clock, ids, digest: sha256, log: silentLog, tokens, folder }
    const made = createOrganisation({ ...common, settings: all })
    await made.load()
    return made
  }
  const organisation = await make()
  const told: Events['presence.changed'][] = []
  organisation.events.on('presence.changed', event => void told.push(event))
  const skillsOf = ({ workspace }: { workspace: string }) =>
    workspace === 'ada' ? [{ id: 'add', name: 'Add', description: 'Adds.' }] : undefined
  const service = createApiService(organisationHandlers({ organisation, store, clock, skillsOf, version: '1.2.3' }))

  /** Asks as this visitor; the owner of the first organisation when absent. */
  const ask = <K extends ApiOperation>(
    operation: K,
    request: { [P in keyof ApiRequest<K>]?: ApiRequest<K>[P] } = {},
    visitor: ApiCaller | undefined = OWNER,
  ): Promise<ApiAnswer<K>> => {
    const whole = { params: {}, query: {}, body: undefined, ...request } as unknown as ApiRequest<K>
    return service.answer(operation, visitor, whole, { origin: 'http://here' })
  }
  return { storage, store, clock, organisation, service, ask, told, ownerOf, reopen: make }
}

const OWNER: ApiCaller = { kind: 'owner', organisation: DEFAULT_ORGANISATION }

function ownerOf(organisation: string): ApiCaller {
  return { kind: 'owner', organisation }
}
