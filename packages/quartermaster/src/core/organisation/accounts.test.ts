import { describe, expect, it } from 'vitest'
import { AppError, type NewJoinCode } from '../../contracts/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'

const HOUR_MS = 3_600_000

describe('persons', () => {
  it('have accounts with tokens of their own', async () => {
    const { ask, organisation, reopen } = await openOrganisation()
    const made = await ask('createPerson', { body: { name: 'eve', title: 'Eve' } })
    const more = await ask('createPersonToken', { params: { name: 'eve' }, body: { label: 'phone' } })
    expect(made.person).toMatchObject({ name: 'eve', title: 'Eve', organisation: 'default' })
    for (const { token } of [made, more])
      expect(await organisation.identify(token)).toMatchObject({ kind: 'person', name: 'eve' })
    expect((await reopen()).tokens.verify(made.token)).toMatchObject({ person: 'eve' })
    await expect(ask('createPerson', { body: { name: 'eve' } })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await expect(ask('createPersonToken', { params: { name: 'mallory' }, body: {} })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
  })

  it('get an account with their first token, also two tokens at once', async () => {
    const { ask, organisation } = await openOrganisation()
    await organisation.persons.issueToAny('default', 'eve', {})
    await organisation.persons.issueToAny('default', 'eve', { label: 'phone' })
    expect((await ask('listPersons')).persons.map(({ name }) => name)).toEqual(['eve'])
    expect(organisation.tokens.listOf({ organisation: 'default', kind: 'person', name: 'eve' })).toHaveLength(2)
  })

  it('that are removed lose also the token that is being made', async () => {
    const { ask, organisation, storage } = await openOrganisation()
    await ask('createPerson', { body: { name: 'eve' } })
    storage.fault = () => Promise.resolve() as never
    const made = ask('createPersonToken', { params: { name: 'eve' }, body: {} })
    const owner = { organisation: 'default', kind: 'person', name: 'eve' } as const
    const gone = organisation.tokens.revokeAll(owner, [])
    const { token } = await made
    await gone
    expect(await organisation.identify(token)).toBeUndefined()
  })

  it('that are removed lose all their tokens with their account', async () => {
    const { ask, organisation, reopen } = await openOrganisation()
    const { token } = await ask('createPerson', { body: { name: 'eve' } })
    const other = await ask('createPerson', { body: { name: 'ada' } })
    const ended: string[] = []
    organisation.tokens.onRevoked(id => void ended.push(id))
    await ask('removePerson', { params: { name: 'eve' } })
    for (const one of [organisation, await reopen()]) {
      expect(await one.identify(token)).toBeUndefined()
      expect(await one.identify(other.token)).toMatchObject({ name: 'ada' })
      expect((await one.persons.list('default')).map(({ name }) => name)).toEqual(['ada'])
    }
    expect(ended).toHaveLength(1)
    await expect(ask('removePerson', { params: { name: 'eve' } })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('are shut out at once also when their removal cannot be stored', async () => {
    const { ask, organisation, storage } = await openOrganisation()
    const { token } = await ask('createPerson', { body: { name: 'eve' } })
    storage.fault = () => ({ error: new AppError('STORE_UNAVAILABLE', 'The disk is full.') })
    await expect(ask('removePerson', { params: { name: 'eve' } })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(await organisation.identify(token)).toBeUndefined()
    storage.fault = () => undefined
    expect(await ask('removePerson', { params: { name: 'eve' } })).toMatchObject({ name: 'eve' })
  })

  it('read the tree, and change nothing', async () => {
    const { ask, organisation } = await openOrganisation()
    const { token } = await ask('createPerson', { body: { name: 'eve' } })
    const eve = await organisation.identify(token)
    expect((await ask('listWorkspaces', {}, eve)).workspaces).toHaveLength(1)
    expect(await ask('me', {}, eve)).toEqual({ kind: 'person', organisation: 'default', name: 'eve' })
    for (const operation of ['createWorkspace', 'createJoinCode', 'listPersons', 'peers', 'register'] as const)
      await expect(ask(operation, {}, eve)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
  })
})

describe('a join code', () => {
  async function open(body: NewJoinCode = {}) {
    const at = await openOrganisation()
    const issued = await at.ask('createJoinCode', { body })
    const join = (code = issued.code, name?: string) =>
      at.ask('join', { body: name === undefined ? { code } : { code, name } }, undefined)
    return { ...at, ...issued, join }
  }

  it('makes a workspace and its token, with what the code says', async () => {
    const body: NewJoinCode = { name: 'ada', role: 'Leads.', abilities: ['broadcast'] }
    const { join, organisation, ask, facts } = await open(body)
    const { workspace, token } = await join(undefined, 'somebody-else')
    expect(workspace).toMatchObject({ ...body, parent: { name: 'root' }, origin: 'joined' })
    expect(await organisation.identify(token)).toMatchObject({ workspace: { id: workspace.id } })
    expect((await ask('listJoinCodes')).joinCodes).toEqual([
      { ...facts, state: 'used', usedAt: expect.any(Number), usedBy: workspace.id },
    ])
  })

  it('is not made for a name that somebody has: whoever gets it could not choose another', async () => {
    const { ask } = await open()
    await ask('createWorkspace', { body: { name: 'bob' } })
    await expect(ask('createJoinCode', { body: { name: 'bob' } })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  })

  it('leaves the name to whoever joins where it has none', async () => {
    const { join, ask } = await open()
    await ask('createWorkspace', { body: { name: 'bob' } })
    await expect(join()).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(join(undefined, 'bob')).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    expect(await join(undefined, 'ada')).toMatchObject({ workspace: { name: 'ada' } })
  })

  it('is refused like any other bad one when its place goes at the same moment', async () => {
    const { join, ask, storage } = await open()
    const { id } = await ask('createWorkspace', { body: { name: 'team' } })
    const { code } = await ask('createJoinCode', { body: { parent: 'team' } })
    const { commit } = storage.store
    let isFirst = true
    Object.assign(storage.store, {
      async commit(writes: Parameters<typeof commit>[0]) {
        if (isFirst) {
          isFirst = false
          await ask('archiveWorkspace', { params: { id } })
        }
        return commit(writes)
      },
    })
    await expect(join(code, 'ada')).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  it('says what stands against a name: also a token of that name that is still good', async () => {
    const { join, organisation } = await open()
    await organisation.tokens.create({ agent: 'ghost' })
    const message = expect.stringContaining('still valid')
    await expect(join(undefined, 'ghost')).rejects.toMatchObject({ code: 'NAME_TAKEN', message })
  })

  it('is kept as a hash, and its text nowhere', async () => {
    const { code, store, ask } = await open()
    expect(code).toMatch(/^qmjoin_[\w-]{43}$/)
    const rows = await store.find('joincodes', {})
    expect(JSON.stringify([rows, await ask('listJoinCodes')])).not.toContain(code.slice(7))
  })

  it('is for one: of two who come at once the other is refused, and nothing of theirs stays behind', async () => {
    const { join, store } = await open()
    const both = await Promise.allSettled([join(undefined, 'ada'), join(undefined, 'bob')])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect([await store.count('workspaces'), await store.count('tokens')]).toEqual([2, 1])
  })

  it('that is wrong, used, over, taken back or leads nowhere is answered alike', async () => {
    const { join, ask, clock } = await open({ name: 'ada' })
    const code = async (body: NewJoinCode) => ask('createJoinCode', { body })
    const [over, revoked] = [await code({ ttlMs: HOUR_MS }), await code({})]
    const desk = await ask('createWorkspace', { body: { name: 'desk' } })
    const nowhere = await code({ parent: desk.id })
    await join()
    await clock.advance(HOUR_MS)
    expect(await ask('revokeJoinCode', { params: { id: revoked.facts.id } })).toMatchObject({ state: 'revoked' })
    await ask('archiveWorkspace', { params: { id: desk.id } })
    const answers = [undefined, over.code, revoked.code, nowhere.code, 'qmjoin_wrong', 'nonsense'].map(one =>
      join(one, 'eve').catch((error: AppError) => error.toJSON()),
    )
    const [first, ...others] = await Promise.all(answers)
    expect(first).toMatchObject({ code: 'TOKEN_INVALID' })
    for (const other of others) expect(other).toEqual(first)
  })

  it('of another organisation cannot be taken back from here', async () => {
    const { facts, ask, ownerOf } = await open()
    await ask('createOrganisation', { body: { name: 'acme' } })
    await expect(ask('revokeJoinCode', { params: { id: facts.id } }, ownerOf('acme'))).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
  })
})
