import { describe, expect, it } from 'vitest'
import type { Placement } from '../../contracts/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'
import { remove } from '../store/index.ts'
import { placeAgents } from './index.ts'

const folder = (agents: Record<string, Placement>, depth = 8) =>
  placeAgents(
    Object.entries(agents).map(([name, workspace]) => ({ name, config: { workspace } })),
    { depth },
  )

async function treeOf({ organisation }: Awaited<ReturnType<typeof openOrganisation>>) {
  const tree = await organisation.workspaces.tree('default')
  return tree.ordered().map(row => `${'  '.repeat(tree.tier(row))}${row.workspace} ${row.status}`)
}

describe('agents whose files are wrong about their place', () => {
  it('are never above one that they are below', async () => {
    for (const bob of [{ name: 'bob' }, { name: 'bob', config: { workspace: { parent: 'nobody' } } }]) {
      const at = await openOrganisation()
      const { agentWorkspaces } = at.organisation
      await agentWorkspaces.follow(folder({ ada: {}, bob: { parent: 'ada' } }))
      const ada = { name: 'ada', config: { workspace: { parent: 'bob' } } }
      await agentWorkspaces.follow(placeAgents([ada, bob], { depth: 8 }))
      expect(await treeOf(at)).toEqual(['root active', '  ada active', '    bob active'])
      expect(agentWorkspaces.problems().get('ada')).toContain('below itself')
    }
  })

  it('lend their names to nobody who joins', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces } = at.organisation
    await agentWorkspaces.follow(folder({ lost: { parent: 'nobody' } }))
    const { code } = await at.ask('createJoinCode', { body: {} })
    await expect(at.ask('join', { body: { code, name: 'lost' } })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
    await at.ask('join', { body: { code, name: 'scout' } })
    for (const { agentWorkspaces: known } of [at.organisation, await at.reopen()]) {
      // Before anybody has looked at the files, and whatever they say.
      expect(known.isTaken('scout')).toBe(true)
      await known.follow(folder({ scout: { parent: 'nobody' } }))
      expect(known.isTaken('scout')).toBe(true)
      expect(known.problems().get('scout')).toContain('joined')
    }
  })
})

it('an agent has its place beside a workspace named like it but for capital letters, with a warning; nobody joins so', async () => {
  const at = await openOrganisation()
  const { agentWorkspaces } = at.organisation
  const { code } = await at.ask('createJoinCode', { body: {} })
  await agentWorkspaces.follow(folder({ ada: {} }))
  await expect(at.ask('join', { body: { code, name: 'ADA' } })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  expect([...agentWorkspaces.warnings()]).toEqual([])
  await at.ask('join', { body: { code, name: 'scout' } })
  await agentWorkspaces.follow(folder({ ada: {}, Scout: {} }))
  expect(await treeOf(at)).toContain('  Scout active')
  expect([...agentWorkspaces.problems()]).toEqual([])
  expect([...agentWorkspaces.warnings()]).toEqual([
    ['Scout', expect.stringContaining('"Scout" and the workspace "scout" differ')],
  ])
})

describe('an agent whose file is gone', () => {
  it('has its place by this folder until that has been taken back', async () => {
    const { agentWorkspaces } = (await openOrganisation()).organisation
    await agentWorkspaces.follow(folder({ ada: {} }))
    const taking = agentWorkspaces.follow(folder({}))
    expect(agentWorkspaces.isHeld('ada')).toBe(true)
    await taking
    expect(agentWorkspaces.isHeld('ada')).toBe(false)
  })
})

describe('two folders on one store', () => {
  it('archive none of each other, whoever looks first and however often', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces: here } = at.organisation
    const { agentWorkspaces: there } = await at.reopen('there')
    await here.follow(folder({ ada: {}, both: {} }))
    await there.follow(folder({ bob: {}, both: {} }))
    await here.follow(folder({ ada: {}, both: {} }))
    await there.follow(folder({ bob: {}, both: {} }))
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '  bob active', '  both active'])
  })

  it('archive what their own files have lost, also while nobody looked, and never what another still has', async () => {
    const at = await openOrganisation()
    await at.organisation.agentWorkspaces.follow(folder({ ada: {}, both: {} }))
    const { agentWorkspaces: there } = await at.reopen('there')
    await there.follow(folder({ both: {} }))
    const { agentWorkspaces: again } = await at.reopen()
    await again.follow(folder({ bob: {} }))
    expect(await treeOf(at)).toEqual(['root active', '  ada archived', '  bob active', '  both active'])
    await there.follow(folder({}))
    expect(await treeOf(at)).toEqual(['root active', '  ada archived', '  bob active', '  both archived'])
    expect((await at.store.find('seats', {})).map(({ workspace, folder: by }) => [workspace, by])).toEqual([
      ['bob', 'here'],
    ])
  })

  it('let the owner archive by hand what is not of their own folder', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces, workspaces } = await at.reopen('there')
    await at.organisation.agentWorkspaces.follow(folder({ ada: {} }))
    await agentWorkspaces.follow(folder({ bob: {} }))
    await expect(workspaces.archive('default', 'bob')).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
    await workspaces.archive('default', 'ada')
    await agentWorkspaces.follow(folder({ bob: {} }))
    expect(await treeOf(at)).toEqual(['root active', '  ada archived', '  bob active'])
    // By hand it is back as well, for as long as there is somebody who has the file; where it is, its owner reads it again.
    const back = { status: 'active' } as const
    await expect(at.organisation.workspaces.change('default', 'ada', back)).rejects.toThrow('quartermaster reload')
    await expect(workspaces.change('default', 'ada', { ...back, role: 'x' })).rejects.toThrow('agents/ada.json')
    await workspaces.change('default', 'ada', back)
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '  bob active'])
    await at.organisation.agentWorkspaces.follow(folder({}))
    await expect(workspaces.change('default', 'ada', back)).rejects.toThrow('It is back when that file is.')
  })

  it('agree on one that comes to one as it leaves the other', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces: here } = at.organisation
    const { agentWorkspaces: there } = await at.reopen('there')
    await here.follow(folder({ ada: {} }))
    await Promise.all([here.follow(folder({})), there.follow(folder({ ada: {} }))])
    expect(await treeOf(at)).toEqual(['root active', '  ada active'])
  })

  it('leave to the first that looks what is from before there were seats', async () => {
    const at = await openOrganisation()
    await at.organisation.agentWorkspaces.follow(folder({ ada: {}, bob: {} }))
    await at.store.commit([remove('seats', { where: {}, rows: 'any' })])
    await at.organisation.agentWorkspaces.follow(folder({ ada: {} }))
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '  bob archived'])
  })
})

describe('the first start', () => {
  it('makes the organisation and its root, once', async () => {
    const at = await openOrganisation()
    await at.reopen()
    expect(await at.ask('listOrganisations')).toEqual({
      organisations: [{ name: 'default', title: null, createdAt: 1_700_000_000_000 }],
    })
    const { workspaces } = await at.ask('listWorkspaces')
    expect(workspaces).toMatchObject([
      {
        id: expect.stringMatching(/^ws_[\w-]{20,}$/),
        name: 'root',
        tier: 0,
        parent: null,
        abilities: ['memory.global'],
      },
    ])
  })
})

describe('the agents of a folder', () => {
  it('are siblings below the root unless their files say otherwise', async () => {
    const at = await openOrganisation()
    await at.organisation.agentWorkspaces.follow(
      folder({ ada: {}, bob: {}, aide: { parent: 'ada', role: 'Helps ada.' } }),
    )
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '    aide active', '  bob active'])
  })

  it('have the abilities that their files give, and the root keeps its own', async () => {
    const at = await openOrganisation()
    await at.organisation.agentWorkspaces.follow(
      folder({ ada: { abilities: ['memory.global'] }, root: { role: 'Leads.' } }),
    )
    const { workspaces } = await at.ask('listWorkspaces')
    expect(workspaces.map(({ name, abilities, role, origin }) => [name, abilities, role, origin])).toEqual([
      ['root', ['memory.global'], 'Leads.', 'root'],
      ['ada', ['memory.global'], '', 'folder'],
    ])
    await at.organisation.agentWorkspaces.follow(folder({ ada: {} }))
    expect((await at.ask('listWorkspaces')).workspaces[1]).toMatchObject({ name: 'ada', abilities: [] })
  })

  it('that leave keep their workspaces, archived, and get them back', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces, workspaces } = at.organisation
    await agentWorkspaces.follow(folder({ ada: {}, bob: { parent: 'ada' } }))
    const before = await workspaces.named('default', 'ada')
    await agentWorkspaces.follow(folder({ bob: {} }))
    expect(await treeOf(at)).toEqual(['root active', '  ada archived', '  bob active'])
    await agentWorkspaces.follow(folder({ ada: {}, bob: {} }))
    expect(await workspaces.named('default', 'ada')).toEqual(before)
  })

  it('are written once: a second look at the same files writes nothing', async () => {
    const at = await openOrganisation()
    await at.organisation.agentWorkspaces.follow(folder({ ada: {}, bob: {} }))
    const commits: unknown[] = []
    at.storage.fault = writes => void commits.push(writes)
    await at.organisation.agentWorkspaces.follow(folder({ ada: {}, bob: {} }))
    expect(commits).toEqual([])
  })

  it('take no workspace that somebody has joined with', async () => {
    const at = await openOrganisation()
    const { code } = await at.ask('createJoinCode', { body: { name: 'ada' } })
    await at.ask('join', { body: { code } })
    const { agentWorkspaces, workspaces } = at.organisation
    await agentWorkspaces.follow(folder({ ada: { abilities: ['memory.global'] }, bob: { parent: 'ada' } }))
    expect([agentWorkspaces.isTaken('ada'), agentWorkspaces.isTaken('bob')]).toEqual([true, false])
    expect([...agentWorkspaces.problems()]).toEqual([
      ['ada', expect.stringContaining('A workspace that joined is named "ada"')],
      ['bob', expect.stringContaining('"ada" has no place itself')],
    ])
    expect(await workspaces.named('default', 'ada')).toMatchObject({ origin: 'joined', abilities: [] })
  })

  it.each([
    [
      'an unknown parent',
      { ada: { parent: 'bbo' }, bob: {} },
      'ada',
      'No agent of this folder is named "bbo". Did you mean "bob"?',
    ],
    ['itself above', { ada: { parent: 'ada' } }, 'ada', '"ada" would be below itself: ada → ada.'],
    [
      'a circle',
      { ada: { parent: 'bob' }, bob: { parent: 'ada' } },
      'ada',
      '"ada" would be below itself: ada → bob → ada.',
    ],
    ['something above the root', { root: { parent: 'ada' }, ada: {} }, 'root', 'has nothing above it'],
    [
      'too many above',
      { a: {}, b: { parent: 'a' }, c: { parent: 'b' } },
      'c',
      '3 levels below the root; 2 is the most',
    ],
  ] as [string, Record<string, Placement>, string, string][])(
    'with %s have a finding, and the others their places',
    (_, agents, wrong, message) => {
      const { problems, places } = folder(agents, 2)
      expect(problems.get(wrong)).toEqual({ field: 'workspace.parent', message: expect.stringContaining(message) })
      expect(places.map(({ name }) => name)).not.toContain(wrong)
      expect(places.length + problems.size).toBe(Object.keys(agents).length)
    },
  )

  it('whose files are wrong stay where they were', async () => {
    const at = await openOrganisation()
    const { agentWorkspaces } = at.organisation
    await agentWorkspaces.follow(folder({ ada: {}, bob: { parent: 'ada' } }))
    await agentWorkspaces.follow(folder({ ada: {}, bob: { parent: 'nobody' } }))
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '    bob active'])
    await agentWorkspaces.follow(placeAgents([{ name: 'ada' }, { name: 'bob' }], { depth: 8 }))
    expect(await treeOf(at)).toEqual(['root active', '  ada active', '    bob active'])
  })
})
