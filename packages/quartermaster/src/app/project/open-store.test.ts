import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openDataFolder } from '../../adapters/data-folder/index.ts'
import { DEFAULT_SETTINGS, type OperationChange } from '../../contracts/index.ts'
import { insert } from '../../core/store/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { operation } from '../../testing/store-contract/stage.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { openStore } from './open-store.ts'

it('tells what became of the calls that were running when their process ended', async () => {
  const { dir } = await tempProject()
  const folder = openDataFolder(join(dir, 'data'))
  await folder.ensure()
  const { log, lines } = collectedLog()
  const first = await openStore({ folder, settings: DEFAULT_SETTINGS, log })
  const leased = { state: 'leased', leaseOwner: 'gone', leaseUntil: 9_000_000_000_000, fence: 1, attempts: 1 } as const
  await first.store.commit([
    insert('operations', operation('op_1', leased)),
    insert('operations', operation('op_2', leased)),
    insert('operations', operation('op_3', { ...leased, retry: 'replay', startedAt: Date.now() })),
    insert('operations', operation('op_4', { ...leased, mutates: false })),
    insert('operations', operation('op_5', { parentId: 'op_1', expiresAt: 9_000_000_000_000 })),
  ])
  await first.close()
  lines.length = 0
  const changes: string[] = []
  const onChange = ({ id, to }: OperationChange) => changes.push(`${id} ${to}`)
  const second = await openStore({ folder, settings: DEFAULT_SETTINGS, log, onChange })
  await second.close()
  expect(changes.sort()).toEqual(['op_1 unknown', 'op_2 unknown', 'op_3 queued', 'op_4 failed', 'op_5 cancelled'])
  expect(lines.filter(line => line.includes('when their process ended'))).toEqual([
    'warn calls were running when their process ended, and may have done their work: see quartermaster operations list --dead {"inDoubt":2}',
    'warn calls were running when their process ended, and are tried again {"again":1}',
    'warn calls were running when their process ended; they change nothing and can be called again {"over":1}',
    'warn calls from inside other ones waited when their process ended, and are cancelled with those {"orphans":1}',
  ])
})
