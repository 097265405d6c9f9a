import { AppError, type IssuedToken, type PersonFacts, type PersonRow } from '../../contracts/index.ts'
import type { Clock, Ids } from '../kernel/index.ts'
import { allRows, insert, mustExist, remove, type Store } from '../store/index.ts'
import type { Tokens } from './tokens.ts'
import { isId } from './workspaces.ts'

/** What is asked for with a person's token. */
export interface PersonToken {
  readonly label?: string | undefined
  readonly ttlMs?: number | undefined
}

/** The accounts of persons. Each is a name in an organisation with tokens of its own. */
export interface Persons {
  list(organisation: string): Promise<PersonFacts[]>
  /** Makes an account and its first token. Throws `NAME_TAKEN`. */
  create(
    organisation: string,
    request: PersonToken & { readonly name: string; readonly title?: string | undefined },
  ): Promise<{ person: PersonFacts; issued: IssuedToken }>
  /** Makes a token for somebody who has an account. Throws `NAME_UNKNOWN`. */
  issue(organisation: string, name: string, wish: PersonToken): Promise<IssuedToken>
  /** Makes a token, and the account where there is none. */
  issueToAny(organisation: string, name: string, wish: PersonToken): Promise<IssuedToken>
  /** Ends the account and all its tokens, in one step. What the person allowed stays until it is taken back. */
  remove(organisation: string, name: string): Promise<PersonFacts>
}

export interface PersonsDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly tokens: Tokens
}

export function createPersons({ store, clock, ids, tokens }: PersonsDeps): Persons {
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
