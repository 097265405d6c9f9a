import { describe, expect, it } from 'vitest'
import type { NewWorkspace, WorkspaceFacts } from '../../contracts/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'
import { placeAgents } from './index.ts'

async function open(settings = {}) {
  const at = await openOrganisation({ settings })
  const make = (body: NewWorkspace) => at.ask('createWorkspace', { body })
  /** Asks as a workspace does, with a token of its own. */
  const as = async ({ organisation, id }: Pick<WorkspaceFacts, 'organisation' | 'id'>) => {
    const { token } = await at.ask('createToken', { params: { id }, body: {} }, at.ownerOf(organisation))
    return { token, visitor: await at.organisation.identify(token) }
  }
  return { ...at, make, as }
}

describe('workspaces', () => {
  it('form a tree, shown from the root down and paged in that order', async () => {
    const { ask, make } = await open()
    await make({ name: 'zoe' })
    await make({ name: 'ada', role: 'Leads.', abilities: ['broadcast'], description: 'The lead.' })
    await make({ name: 'aide', parent: 'ada' })
    const { workspaces } = await ask('listWorkspaces')
    expect(workspaces.map(({ name, tier, parent }) => [name, tier, parent?.name])).toEqual([
      ['root', 0, undefined],
      ['ada', 1, 'root'],
      ['aide', 2, 'ada'],
      ['zoe', 1, 'root'],
    ])
    const first = await ask('listWorkspaces', { query: { limit: 3 } })
    const rest = await ask('listWorkspaces', { query: { limit: 3, cursor: first.nextCursor ?? '' } })
    expect([...first.workspaces, ...rest.workspaces]).toEqual(workspaces)
    expect(rest.nextCursor).toBeNull()
    await expect(ask('listWorkspaces', { query: { cursor: 'ws_x' } })).rejects.toMatchObject({ code: 'CURSOR_GONE' })
  })

  it('have names that are theirs alone in their organisation', async () => {
    const { ask, as, make, ownerOf } = await open()
    await as(await make({ name: 'ada' }))
    // Its tokens are not what stands against it: whoever revoked them would lock it out for nothing.
    const message = expect.stringContaining('A workspace is named "ada" already.')
    await expect(make({ name: 'ada' })).rejects.toMatchObject({ code: 'NAME_TAKEN', message })
    const like = expect.stringContaining('the same name as "aDa" except for upper and lower case')
    await expect(make({ name: 'aDa' })).rejects.toMatchObject({ code: 'NAME_TAKEN', message: like })
    for (const names of [
      ['bob', 'bob'],
      ['cid', 'CID'],
    ]) {
      const both = await Promise.allSettled(names.map(name => make({ name })))
      expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    }
    await ask('createOrganisation', { body: { name: 'acme', title: 'Acme' } })
    await ask('createWorkspace', { body: { name: 'ada' } }, ownerOf('acme'))
    expect((await ask('listWorkspaces', {}, ownerOf('acme'))).workspaces.map(({ name }) => name)).toEqual([
      'root',
      'ada',
    ])
  })

  it('get no name for which an earlier token of an agent is still good', async () => {
    const { organisation, make } = await open()
    await organisation.tokens.create({ agent: 'ghost' })
    const message = expect.stringContaining('still valid')
    await expect(make({ name: 'ghost' })).rejects.toMatchObject({ code: 'NAME_TAKEN', message })
  })

  it('get one again when the time of such a token is over', async () => {
    const { organisation, make, clock } = await open()
    await organisation.tokens.create({ agent: 'ghost', ttlMs: 1_000 })
    await expect(make({ name: 'ghost' })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await clock.advance(1_000)
    expect(await make({ name: 'ghost' })).toMatchObject({ name: 'ghost' })
  })

  it('move with all that is below them, and never below themselves or too deep', async () => {
    const { ask, make } = await open({ workspaceDepth: 3 })
    const ada = await make({ name: 'ada' })
    const aide = await make({ name: 'aide', parent: ada.id })
    const bob = await make({ name: 'bob' })
    const move = (id: string, parent: string) => ask('changeWorkspace', { params: { id }, body: { parent } })
    await expect(move(ada.id, aide.id)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(move(ada.id, 'ada')).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(move('root', 'ada')).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    expect(await move(ada.id, bob.id)).toMatchObject({ tier: 2, parent: { name: 'bob' } })
    await expect(make({ name: 'deep', parent: 'aide' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    const cleo = await make({ name: 'cleo' })
    await expect(move(bob.id, cleo.id)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('make no circle when two are moved at once', async () => {
    const { ask, make } = await open()
    const [ada, bob] = [await make({ name: 'ada' }), await make({ name: 'bob' })]
    const both = await Promise.allSettled([
      ask('changeWorkspace', { params: { id: ada.id }, body: { parent: bob.id } }),
      ask('changeWorkspace', { params: { id: bob.id }, body: { parent: ada.id } }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect((await ask('listWorkspaces')).workspaces).toHaveLength(3)
  })

  it('that are archived are reached by nobody, and their tokens are refused until they are back', async () => {
    const { ask, make, as, organisation } = await open()
    const [ada, bob] = [await make({ name: 'ada' }), await make({ name: 'bob' })]
    const { visitor, token } = await as(ada)
    const { visitor: asBob } = await as(bob)
    expect((await ask('peers', {}, asBob)).peers.map(({ name }) => name)).toEqual(['ada', 'root'])
    await ask('archiveWorkspace', { params: { id: ada.id } })
    expect((await ask('peers', {}, asBob)).peers.map(({ name }) => name)).toEqual(['root'])
    expect(await organisation.identify(token)).toBeUndefined()
    await expect(ask('register', { body: {} }, visitor)).rejects.toMatchObject({ code: 'EDIT_CONFLICT' })
    await expect(ask('archiveWorkspace', { params: { id: 'root' } })).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    await ask('changeWorkspace', { params: { id: ada.id }, body: { status: 'active' } })
    expect(await organisation.identify(token)).toMatchObject({ kind: 'workspace' })
  })

  it('of the folder’s agents are what their files say, and nothing else', async () => {
    const { ask, organisation } = await open()
    await organisation.agentWorkspaces.follow(placeAgents([{ name: 'ada', config: {} }], { depth: 8 }))
    for (const change of [
      ask('archiveWorkspace', { params: { id: 'ada' } }),
      ask('changeWorkspace', { params: { id: 'ada' }, body: { abilities: ['broadcast'] } }),
    ])
      await expect(change).rejects.toMatchObject({
        code: 'REQUEST_REFUSED',
        message: expect.stringContaining('agents/ada.json'),
      })
  })

  it('tell a card: what the owner wrote, what they said, and what their view has', async () => {
    const { ask, make, as, organisation } = await open()
    await organisation.agentWorkspaces.follow(
      placeAgents([{ name: 'ada', config: { description: 'Adds up.' } }], { depth: 8 }),
    )
    const ada = await organisation.workspaces.pick('default', 'ada')
    expect(await ask('workspaceCard', { params: { id: ada.id } })).toEqual({
      name: 'ada',
      description: 'Adds up.',
      version: '1.2.3',
      url: `http://here/a2a/${ada.id}`,
      skills: [{ id: 'add', name: 'Add', description: 'Adds.' }],
    })
    const own = { id: 'sums', name: 'Sums', description: '', tags: ['numbers'] }
    const skills = [{ id: 'add', name: 'Not what the view says', description: '' }, own]
    await ask('register', { body: { card: { skills } } }, (await as(ada)).visitor)
    expect(await ask('workspaceCard', { params: { id: ada.id } })).toMatchObject({
      skills: [{ id: 'add', name: 'Add', description: 'Adds.' }, own],
    })
    const bob = await make({ name: 'bob', role: 'Builds.' })
    const { visitor } = await as(bob)
    expect(await ask('workspaceCard', { params: { id: bob.id } })).toMatchObject({ description: 'Builds.', skills: [] })
    const card = { description: 'Since May.', version: '7', skills: [{ id: 'x', name: 'X', description: '' }] }
    await ask('register', { body: { card } }, visitor)
    const whole = { ...card, description: 'Builds. Since May.' }
    expect(await ask('workspaceCard', { params: { id: bob.id } })).toMatchObject(whole)
  })
})

describe('somebody of another organisation', () => {
  it('finds nothing of this one, and is told the same as of what is not there', async () => {
    const { ask, make, as, ownerOf } = await open()
    const ada = await make({ name: 'ada' })
    await ask('createOrganisation', { body: { name: 'acme' } })
    const eve = await ask('createWorkspace', { body: { name: 'eve' } }, ownerOf('acme'))
    const { visitor } = await as(eve)
    const { facts } = await ask('createToken', { params: { id: ada.id }, body: {} })
    const asked = (id: string, token: string) =>
      Promise.all(
        [
          ask('showWorkspace', { params: { id } }, visitor),
          ask('workspaceCard', { params: { id } }, visitor),
          ask('listTokens', { params: { id } }, visitor),
          ask('showWorkspace', { params: { id } }, ownerOf('acme')),
          ask('rotateToken', { params: { id: token }, body: {} }, visitor),
          ask('revokeToken', { params: { id: token } }, ownerOf('acme')),
        ].map(one =>
          one.then(
            () => 'answered',
            error => `${error.code} ${error.message}`,
          ),
        ),
      )
    const there = await asked(ada.id, facts.id)
    const nowhere = await asked('ws_nothing', 'tok_nothing')
    expect(there.map(text => text.replace(ada.id, 'ws_nothing'))).toEqual(nowhere)
    expect(new Set(there.map(text => text.split(' ')[0]))).toEqual(new Set(['NAME_UNKNOWN']))
  })

  it('gets in as itself, and never as an agent of the first that has its name', async () => {
    const { ask, organisation, ownerOf } = await open()
    await ask('createOrganisation', { body: { name: 'acme' } })
    const eve = await ask('createWorkspace', { body: { name: 'default' } }, ownerOf('acme'))
    const { token } = await ask('createToken', { params: { id: eve.id }, body: {} }, ownerOf('acme'))
    expect(organisation.tokens.verify(token)).toMatchObject({ organisation: 'acme', agent: 'default' })
    expect(await organisation.identify(token)).toMatchObject({ organisation: 'acme' })
    const rotated = await organisation.tokens.rotate(organisation.tokens.holderOf(token)?.tokenId ?? '', {
      overlapMs: 0,
    })
    expect(organisation.tokens.holderOf(rotated.token)).toMatchObject({ organisation: 'acme', name: 'default' })
  })
})

describe('a workspace', () => {
  it('sees what it can reach and nothing else, and its own tokens alone', async () => {
    const { ask, make, as } = await open()
    const ada = await make({ name: 'ada' })
    const aide = await make({ name: 'aide', parent: 'ada' })
    const bob = await make({ name: 'bob' })
    const { visitor } = await as(aide)
    expect((await ask('peers', {}, visitor)).peers).toMatchObject([{ name: 'ada', relation: 'parent', id: ada.id }])
    expect(await ask('showWorkspace', { params: { id: ada.id } }, visitor)).toMatchObject({ name: 'ada' })
    await expect(ask('showWorkspace', { params: { id: bob.id } }, visitor)).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
    await expect(ask('listTokens', { params: { id: ada.id } }, visitor)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    expect((await ask('listTokens', { params: { id: aide.id } }, visitor)).tokens).toHaveLength(1)
    await expect(ask('listWorkspaces', {}, visitor)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
  })

  it('with a limited token does what that is for', async () => {
    const { ask, make, organisation } = await open()
    const { id } = await make({ name: 'ada' })
    const { token, facts } = await ask('createToken', { params: { id }, body: { scopes: ['presence'] } })
    expect(facts.scopes).toEqual(['presence'])
    const visitor = await organisation.identify(token)
    expect(await ask('heartbeat', {}, visitor)).toMatchObject({ presence: 'online' })
    await expect(ask('peers', {}, visitor)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    expect(organisation.tokens.verify(token)).toBeUndefined()
    const next = await organisation.tokens.rotate(facts.id, { overlapMs: 0 })
    expect(next.facts.scopes).toEqual(['presence'])
  })

  it('makes nothing of a limited token that could do more, or for longer', async () => {
    const { ask, organisation } = await openOrganisation()
    const { id } = await ask('createWorkspace', { body: { name: 'ada' } })
    const whole = await ask('createToken', { params: { id }, body: {} })
    for (const body of [{ scopes: ['tokens' as const] }, { ttlMs: 60_000 }]) {
      const limited = await ask('createToken', { params: { id }, body })
      const visitor = await organisation.identify(limited.token)
      await expect(ask('rotateToken', { params: { id: whole.facts.id }, body: {} }, visitor)).rejects.toMatchObject({
        code: 'REQUEST_REFUSED',
      })
      const own = await ask('rotateToken', { params: { id: limited.facts.id }, body: {} }, visitor)
      expect(own.facts.scopes).toEqual(limited.facts.scopes)
    }
    const visitor = await organisation.identify(whole.token)
    expect(await ask('rotateToken', { params: { id: whole.facts.id }, body: {} }, visitor)).toBeDefined()
  })

  it('is not told who is above the one above it', async () => {
    const { ask, organisation } = await openOrganisation()
    const top = await ask('createWorkspace', { body: { name: 'top' } })
    const middle = await ask('createWorkspace', { body: { name: 'middle', parent: top.id } })
    const low = await ask('createWorkspace', { body: { name: 'low', parent: middle.id } })
    const { token } = await ask('createToken', { params: { id: low.id }, body: {} })
    const visitor = await organisation.identify(token)
    expect(await ask('showWorkspace', { params: { id: middle.id } }, visitor)).toMatchObject({ tier: 2, parent: null })
    expect((await ask('showWorkspace', { params: { id: low.id } }, visitor)).parent).toMatchObject({ name: 'middle' })
    expect((await ask('showWorkspace', { params: { id: middle.id } })).parent).toMatchObject({ name: 'top' })
  })

  it('that is alone is told why it has no peers', async () => {
    const { ask, ownerOf, organisation } = await open()
    await ask('createOrganisation', { body: { name: 'acme' } })
    const root = await organisation.workspaces.pick('acme', 'root')
    const { token } = await ask('createToken', { params: { id: root.id }, body: {} }, ownerOf('acme'))
    const visitor = await organisation.identify(token)
    expect(await ask('peers', {}, visitor)).toMatchObject({
      peers: [],
      reason: expect.stringContaining('no workspace above'),
    })
  })
})
