import {
  AppError,
  DEFAULT_ORGANISATION,
  type IssuedJoinCode,
  type IssuedToken,
  type JoinCodeFacts,
  type JoinCodeRow,
  type Joining,
  type NewJoinCode,
  type PersonFacts,
  type PersonRow,
  ROOT_WORKSPACE,
  type Settings,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { type Clock, type Digest, type Ids } from '../kernel/index.ts'
import { allRows, insert, mustExist, remove, type Store, update, type Write } from '../store/index.ts'
import { type AgentWorkspaces } from './agent-workspaces.ts'
import { type Tokens } from './tokens.ts'
import { type Draft, isId, refusedDraft, unknownWorkspace, type Workspaces } from './workspaces.ts'

/** What is requested with a person's token. */
interface PersonToken {
  readonly label?: string | undefined
  readonly ttlMs?: number | undefined
}

/** Accounts of persons: a name in an organisation with its own tokens. */
export interface Persons {
  list(organisation: string): Promise<PersonFacts[]>
  /** Creates an account and its first token. Throws `NAME_TAKEN`. */
  create(
    organisation: string,
    request: PersonToken & { readonly name: string; readonly title?: string | undefined },
  ): Promise<{ person: PersonFacts; issued: IssuedToken }>
  /** Creates a token for an existing account. Throws `NAME_UNKNOWN`. */
  issue(organisation: string, name: string, wish: PersonToken): Promise<IssuedToken>
  /** Creates a token, and the account if missing. */
  issueToAny(organisation: string, name: string, wish: PersonToken): Promise<IssuedToken>
  /** Ends the account and all its tokens in one step. Grants the person gave stay until revoked. */
  remove(organisation: string, name: string): Promise<PersonFacts>
}

export function createPersons({
  store,
  clock,
  ids,
  tokens,
}: {
  store: Store
  clock: Clock
  ids: Ids
  tokens: Tokens
}): Persons {
  async function find(organisation: string, name: string): Promise<PersonRow | undefined> {
    if (!isId(name)) return undefined
    return (await store.find('persons', { where: { organisation, workspace: name }, limit: 1 }))[0]
  }

  async function issue(organisation: string, name: string, wish: PersonToken): Promise<IssuedToken | undefined> {
    if (!isId(name)) return undefined
    const isThere = mustExist('persons', { organisation, workspace: name }, 'person.there')
    return tokens.createWith({ ...wish, person: name, organisation }, [isThere])
  }

  const create: Persons['create'] = async (organisation, { name, title, ...wish }) => {
    const createdAt = Math.round(clock.now())
    const row: PersonRow = { id: ids.next('person'), organisation, workspace: name, title: title ?? null, createdAt }
    const request = { ...wish, person: name, organisation }
    const issued = await tokens.createWith(request, [insert('persons', row, 'person.name')])
    if (issued) return { person: factsOf(row), issued }
    throw new AppError('NAME_TAKEN', `There is a person "${name}" already. Make another token for them instead.`)
  }

  return {
    async list(organisation) {
      const rows = await allRows(store, 'persons', { organisation })
      return rows.map(factsOf).toSorted((a, b) => (a.name < b.name ? -1 : 1))
    },
    create,
    async issue(organisation, name, wish) {
      const issued = await issue(organisation, name, wish)
      if (issued) return issued
      throw unknownPerson(name)
    },
    async issueToAny(organisation, name, wish) {
      const issued = await issue(organisation, name, wish)
      return issued ?? (await create(organisation, { name, ...wish })).issued
    },
    async remove(organisation, name) {
      const row = await find(organisation, name)
      if (!row) throw unknownPerson(name)
      const gone = remove('persons', { where: { id: row.id }, rows: 'any' })
      await tokens.revokeAll({ organisation, kind: 'person', name }, [gone])
      return factsOf(row)
    },
  }
}

function unknownPerson(name: string): AppError {
  return new AppError('NAME_UNKNOWN', `There is no person "${isId(name) ? name : '…'}" here.`)
}

function factsOf({ id, organisation, workspace, title, createdAt }: PersonRow): PersonFacts {
  return { id, organisation, name: workspace, title, createdAt }
}

/** Single-use, expiring codes that let a remote agent join. */
export interface JoinCodes {
  /** Creates a code. Its text is only in this answer. */
  create(organisation: string, request: NewJoinCode): Promise<IssuedJoinCode>
  list(organisation: string): Promise<JoinCodeFacts[]>
  revoke(organisation: string, id: string): Promise<JoinCodeFacts>
  /** Creates a workspace and its token in one step. The answer is the same for everything that can be wrong with a code. */
  redeem(joining: Joining): Promise<{ workspace: WorkspaceRow; issued: IssuedToken }>
}

interface JoinCodesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly digest: Digest
  readonly tokens: Tokens
  readonly workspaces: Workspaces
  readonly agentWorkspaces: Pick<AgentWorkspaces, 'isAgent' | 'joined'>
  readonly settings: Pick<Settings, 'joinCodeHours'>
}

const PREFIX = 'qmjoin'
const HOUR_MS = 3_600_000

export function createJoinCodes(deps: JoinCodesDeps): JoinCodes {
  const { store, clock, ids, digest, tokens, workspaces, agentWorkspaces, settings } = deps
  const now = () => Math.round(clock.now())

  async function factsOf(row: JoinCodeRow): Promise<JoinCodeFacts> {
    const parent = await workspaces.find(row.organisation, row.parentId)
    return { ...shownFacts(row, now()), parent: { id: row.parentId, name: parent?.workspace ?? row.workspace } }
  }

  async function found(code: string): Promise<JoinCodeRow | undefined> {
    const [row] = await store.find('joincodes', { where: { hash: digest(code) }, limit: 1 })
    return row && stateOf(row, now()) === 'open' ? row : undefined
  }

  /** A code whose parent workspace is gone is invalid like any other. */
  async function draftFor({ organisation, parentId, role, abilities }: JoinCodeRow, name: string): Promise<Draft> {
    const parent = await workspaces.find(organisation, parentId)
    if (parent?.status !== 'active') throw refused()
    return workspaces.draft(organisation, { name, parent: parentId, role, abilities }, 'joined')
  }

  /** Of two concurrent uses the second finds it used. */
  function use({ id }: JoinCodeRow, usedBy: string): Write {
    const at = now()
    const where = { id, usedAt: null, revokedAt: null, expiresAt: { above: at } }
    return update('joincodes', { where, set: { usedAt: at, usedBy }, guard: 'joincode.open' })
  }

  /** An agent may have tools before it has a workspace, and a token of its name would get them. */
  const isAgent = (organisation: string, name: string) =>
    organisation === DEFAULT_ORGANISATION && agentWorkspaces.isAgent(name)

  /** A code with a workspace name fixes the name of the joining agent. */
  async function isTaken(organisation: string, name: string): Promise<boolean> {
    return isAgent(organisation, name) || (await workspaces.named(organisation, name)) !== undefined
  }

  return {
    async create(organisation, { parent = ROOT_WORKSPACE, name, role = '', abilities = [], ttlMs }) {
      const above = await workspaces.pick(organisation, parent)
      if (above.status !== 'active') throw unknownWorkspace(parent)
      if (name !== undefined && (await isTaken(organisation, name))) throw taken(name)
      const code = ids.secret(PREFIX)
      const row: JoinCodeRow = {
        id: ids.next('join'),
        organisation,
        workspace: above.workspace,
        parentId: above.id,
        hash: digest(code),
        name: name ?? null,
        role,
        abilities: [...abilities],
        createdAt: now(),
        expiresAt: now() + (ttlMs ?? settings.joinCodeHours * HOUR_MS),
        usedAt: null,
        usedBy: null,
        revokedAt: null,
      }
      await store.commit([insert('joincodes', row)])
      return { code, facts: await factsOf(row) }
    },
    async list(organisation) {
      const rows = await allRows(store, 'joincodes', { organisation })
      return Promise.all(rows.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1)).map(factsOf))
    },
    async revoke(organisation, id) {
      const row = isId(id) ? await store.get('joincodes', id) : undefined
      if (row?.organisation !== organisation) throw new AppError('NAME_UNKNOWN', 'There is no such join code here.')
      const where = { id, usedAt: null, revokedAt: null }
      await store.commit([update('joincodes', { where, set: { revokedAt: now() }, rows: 'any' })])
      return factsOf((await store.get('joincodes', id)) ?? row)
    },
    async redeem({ code, name: wished }) {
      const row = await found(code)
      if (!row) throw refused()
      const name = row.name ?? wished
      if (name === undefined)
        throw new AppError('INPUT_INVALID', 'This code leaves the name to you. Send "name" beside "code".')
      if (isAgent(row.organisation, name)) throw taken(name)
      const { row: workspace, writes } = await draftFor(row, name)
      const request = { agent: name, organisation: row.organisation, label: 'joined with a code' }
      const isGone = (guard: string | undefined) => guard === 'joincode.open' || guard === 'workspace.parent'
      const issued = await tokens.createWith(request, [use(row, workspace.id), ...writes], guard =>
        isGone(guard) ? refused() : refusedDraft(workspace, guard),
      )
      if (!issued) throw refused()
      if (row.organisation === DEFAULT_ORGANISATION) agentWorkspaces.joined(name)
      workspaces.tell(workspace)
      return { workspace, issued }
    },
  }
}

function taken(name: string): AppError {
  return new AppError('NAME_TAKEN', `A workspace is named "${name}" already. Choose another name.`)
}

/** One answer for a wrong, used, expired or revoked code, which tells a guesser nothing. */
function refused(): AppError {
  const message = 'This join code is invalid: unknown, used, expired or revoked.'
  return new AppError('TOKEN_INVALID', `${message} Ask the person who gave it for another.`)
}

function stateOf({ usedAt, revokedAt, expiresAt }: JoinCodeRow, now: number): JoinCodeFacts['state'] {
  if (usedAt !== null) return 'used'
  if (revokedAt !== null) return 'revoked'
  return expiresAt <= now ? 'expired' : 'open'
}

function shownFacts(row: JoinCodeRow, now: number): Omit<JoinCodeFacts, 'parent'> {
  const { id, organisation, name, role, abilities, createdAt, expiresAt, usedAt, usedBy, revokedAt } = row
  const times = { createdAt, expiresAt, usedAt, usedBy, revokedAt }
  return { id, organisation, name, role, abilities, state: stateOf(row, now), ...times }
}
