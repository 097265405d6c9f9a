import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../adapters/storage-sqlite/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { placeAgents } from './index.ts'

it('is the same in a database: places, moves, persons, codes and heartbeats', async () => {
  const { dir } = await tempProject()
  const store = await openSqliteStore({ dir, log: silentLog })
  onTestFinished(() => store.close())
  const { ask, organisation, reopen, clock } = await openOrganisation({ store })
  await organisation.agentWorkspaces.follow(
    placeAgents([{ name: 'ada', config: { workspace: { abilities: ['broadcast'] } } }], { depth: 8 }),
  )
  const bob = await ask('createWorkspace', { body: { name: 'bob' } })
  const cleo = await ask('createWorkspace', { body: { name: 'cleo' } })
  const moves = await Promise.allSettled([
    ask('changeWorkspace', { params: { id: bob.id }, body: { parent: cleo.id } }),
    ask('changeWorkspace', { params: { id: cleo.id }, body: { parent: bob.id } }),
  ])
  expect(moves.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const { code } = await ask('createJoinCode', { body: { parent: 'ada', abilities: ['broadcast'] } })
  const joins = await Promise.allSettled([
    ask('join', { body: { code, name: 'eva' } }),
    ask('join', { body: { code, name: 'eve' } }),
  ])
  expect(joins.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const person = await ask('createPerson', { body: { name: 'pat' } })
  await ask('createPerson', { body: { name: 'quinn' } })
  await ask('removePerson', { params: { name: 'pat' } })
  const row = await organisation.workspaces.pick('default', 'ada')
  organisation.presence.beat(row)
  await organisation.stop()

  const again = await reopen()
  const tree = await again.workspaces.tree('default')
  expect(tree.ordered()).toHaveLength(5)
  expect(tree.get(row.id)).toEqual({ ...row, lastSeenAt: clock.now() })
  expect((await again.workspaces.reachable(row)).map(({ workspace }) => workspace)).toContain('root')
  expect((await again.persons.list('default')).map(({ name }) => name)).toEqual(['quinn'])
  expect(await again.identify(person.token)).toBeUndefined()
  expect((await again.joinCodes.list('default')).map(({ state }) => state)).toEqual(['used'])
})
