import { expect, it, vi } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import type { WorkspaceRow } from '../../contracts/index.ts'
import { createEmitter } from '../../core/kernel/index.ts'
import type { NamedPlace } from '../../core/organisation/index.ts'
import type { NewsListener, StoreNews } from '../../core/store/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createRemoteAgentList } from './workspaces.ts'

const ada = (organisation: string, status: NamedPlace['status'] = 'active') => ({
  id: `ws_${organisation}`,
  organisation,
  workspace: 'ada',
  status,
})

/** Workspaces in a store that others write to as well. */
async function open() {
  const state = { fails: false, isHeard: true }
  const rows = new Map([ada('default'), ada('acme')].map(row => [row.id, row]))
  const read = vi.fn<(ids?: readonly string[]) => Promise<NamedPlace[]>>(async ids => {
    if (state.fails) throw new Error('The store does not answer.')
    return [...rows.values()].filter(({ id }) => !ids || ids.includes(id))
  })
  const named = async (organisation: string, name: string) =>
    [...rows.values()].find(row => row.organisation === organisation && row.workspace === name) as
      | WorkspaceRow
      | undefined
  let listener: NewsListener | undefined
  const news: StoreNews = { isConnected: () => state.isHeard, listen: one => ((listener = one), () => {}) }
  const events = createEmitter({ onError: error => expect.fail(String(error)) })
  const clock = createFakeClock()
  const list = createRemoteAgentList(clock, silentLog)
  const left = vi.fn<() => void>()
  list.onLeft(left)
  expect(list.has(ada('default'))).toBe(false)
  const held = new Set<string>()
  const agentWorkspaces = { isTaken: (name: string) => name === 'joined', isHeld: (name: string) => held.has(name) }
  await list.open({
    organisation: { places: read, workspaces: { named }, agentWorkspaces, events } as never,
    news,
  })
  left.mockClear()
  read.mockClear()
  const there = () => ['default', 'acme'].map(organisation => list.has(ada(organisation)))
  const changed = (ids: readonly string[] | 'any') => listener?.changed([{ table: 'workspaces', ids }])
  const settle = () => new Promise(resolve => setImmediate(resolve))
  return { list, rows, held, read, state, events, clock, left, there, changed, settle, back: () => listener?.back() }
}

it('knows the workspaces of every organisation, and those that joined the first', async () => {
  const { list, there } = await open()
  expect(there()).toEqual([true, true])
  expect(list.has({ organisation: 'third', workspace: 'ada' })).toBe(false)
  expect([list.hasJoined('joined'), list.hasJoined('ada')]).toEqual([true, false])
})

it('lists no remote agent under a name that the folder still holds', async () => {
  const { held, there } = await open()
  held.add('ada')
  expect(there()).toEqual([false, true])
})

it('follows changes of this process, and reports an agent that has left', async () => {
  const { events, there, left } = await open()
  events.emit('workspace.changed', { organisation: 'acme', id: 'ws_acme', name: 'ada', status: 'archived' })
  expect([there(), left.mock.calls.length]).toEqual([[true, false], 1])
  events.emit('workspace.changed', { organisation: 'acme', id: 'ws_acme', name: 'ada', status: 'active' })
  expect([there(), left.mock.calls.length]).toEqual([[true, true], 1])
})

it('reads only what another node has changed', async () => {
  const { rows, read, there, left, changed, settle } = await open()
  rows.set('ws_acme', ada('acme', 'archived'))
  changed(['ws_acme'])
  await settle()
  expect([there(), left.mock.calls.length]).toEqual([[true, false], 1])
  expect(read.mock.calls).toEqual([[['ws_acme']]])
  rows.set('ws_acme', ada('acme'))
  changed('any')
  await settle()
  expect([there(), read.mock.calls.at(-1)]).toEqual([[true, true], []])
})

it('prefers a change that arrived while it was reading', async () => {
  const { events, there, changed, rows, settle } = await open()
  changed(['ws_acme'])
  // Archived here, after that was read and before it was noted.
  rows.set('ws_acme', ada('acme', 'archived'))
  events.emit('workspace.changed', { organisation: 'acme', id: 'ws_acme', name: 'ada', status: 'archived' })
  await settle()
  expect(there()).toEqual([true, false])
})

it('reads a single workspace while no news arrive, and all of them once news are back', async () => {
  const { list, rows, read, state, there, left, settle, back } = await open()
  expect(list.fresh(ada('acme'))).toBeUndefined()
  state.isHeard = false
  rows.set('ws_acme', ada('acme', 'archived'))
  await list.fresh(ada('acme'))
  expect([there(), left.mock.calls.length, read.mock.calls.length]).toEqual([[true, false], 1, 0])
  rows.delete('ws_default')
  state.isHeard = true
  back()
  await settle()
  expect(there()).toEqual([false, false])
})

it('tries again after the store did not answer', async () => {
  const { rows, state, clock, there, changed, settle } = await open()
  state.fails = true
  rows.set('ws_acme', ada('acme', 'archived'))
  changed(['ws_acme'])
  await settle()
  state.fails = false
  await clock.advance(1_000)
  await settle()
  expect(there()).toEqual([true, false])
})
