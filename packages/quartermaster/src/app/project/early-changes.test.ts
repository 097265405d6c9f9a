import { expect, it, onTestFinished } from 'vitest'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import { type ControlEvent, DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { insert } from '../../core/store/index.ts'
import { operation } from '../../testing/store-contract/stage.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createQuartermaster } from '../bootstrap/create-quartermaster.ts'
import { openStore } from './open-store.ts'

const LEASED = { state: 'leased', leaseOwner: 'gone', leaseUntil: 9_000_000_000_000, fence: 1, attempts: 1 } as const
const NESTED = { state: 'waitingForApproval', parentId: 'op_1', expiresAt: 9_000_000_000_000 } as const

it('tells whoever follows what became of the operations that an earlier process left behind', async () => {
  const { dir } = await tempProject({ 'agents/default.json': '{ "capabilities": {} }' })
  const quartermaster = await createQuartermaster({ dir, env: {} })
  onTestFinished(() => quartermaster.stop())
  const folder = openDataFolder(`${dir}/.quartermaster`)
  await folder.ensure()
  const earlier = await openStore({ folder, settings: DEFAULT_SETTINGS, log: silentLog })
  const again = operation('op_3', { ...LEASED, retry: 'replay', startedAt: Date.now() })
  const rows = [operation('op_1', LEASED), operation('op_2', NESTED), again]
  await earlier.store.commit(rows.map(row => insert('operations', row)))
  await earlier.close()

  const heard: ControlEvent[] = []
  void quartermaster.control.events({}, { onEvent: event => heard.push(event) })
  const { operations } = await quartermaster.control.operations({})
  expect(heard.map(event => ('id' in event ? `${event.name} ${event.id}` : event.name))).toEqual([
    'events.started',
    'approval.closed op_2',
    'operation.changed op_2',
    'operation.changed op_1',
  ])
  // It is for a process that goes on with such, and this one does not watch.
  expect(operations.find(({ id }) => id === 'op_3')).toMatchObject({ state: 'queued' })
})
