import { expect, it } from 'vitest'
import type { Task } from '../../testing/a2a-fixture.ts'
import { openA2a, said } from '../../testing/a2a-fixture.ts'

const AT_ONCE = { configuration: { returnImmediately: true } }

async function passedOn(metadata: unknown) {
  const at = await openA2a({ delegationHops: 4 })
  const message = said('count the boxes', { metadata })
  const { result, error } = await at.rpc<{ result?: { task: Task }; error?: { data: readonly { reason: string }[] } }>(
    'SendMessage',
    { message, ...AT_ONCE },
  )
  const row = result && (await at.store.get('delegations', result.task.id))
  return row?.hops ?? error?.data[0]?.reason
}

it.each([
  ['was passed on twice', { 'quartermaster/hops': 2 }, 3],
  ['may be passed on once more', { 'quartermaster/hops': 3 }, 4],
  ['was passed on too often', { 'quartermaster/hops': 4 }, 'DELEGATION_LOOP'],
  ['claims more than anybody counts', { 'quartermaster/hops': 1e308 }, 'DELEGATION_LOOP'],
  ['has gone half a step', { 'quartermaster/hops': 0.5 }, 2],
  ['would be nearer than it is', { 'quartermaster/hops': -7 }, 1],
  ['says it in words', { 'quartermaster/hops': '3' }, 1],
  ['has another extension', { 'other/hops': 3, deep: { 'quartermaster/hops': 3 } }, 1],
  ['has no metadata', undefined, 1],
  ['has metadata that are none', ['quartermaster/hops'], 1],
])('counts on where a task %s', async (_what, metadata, hops) => {
  expect(await passedOn(metadata)).toBe(hops)
})

it('takes no word for it that a task of its own asker has come a shorter way', async () => {
  const at = await openA2a({ delegationHops: 4 })
  const { cid } = await at.workspaces('cid')
  await at.delegations.delegate(cid, { to: at.ada.id, task: 'x' }, { hopsBefore: 2 })
  await at.take(at.ada)
  const message = said('count the boxes', { metadata: { 'quartermaster/hops': 1 } })
  const { result } = await at.rpc<{ result: { task: Task } }>('SendMessage', { message, ...AT_ONCE })
  expect(await at.store.get('delegations', result.task.id)).toMatchObject({ hops: 4 })
})
