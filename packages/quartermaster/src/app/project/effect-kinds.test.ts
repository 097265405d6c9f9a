import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { effectKindsOf, openProject } from './project.ts'

it('looks for rows in the databases that the configuration names, as it is now', async () => {
  const { dir, path, write } = await tempProject({ 'quartermaster.config.json': '{}' })
  const database = new DatabaseSync(path('shop.db'))
  database.exec("create table orders (item text); insert into orders values ('tea')")
  database.close()
  const project = await openProject({ from: dir, env: {}, watch: false, log: silentLog })
  const kind = effectKindsOf(project).get('rowPresent')
  const { signal } = new AbortController()
  const fields = { connection: 'shop', sql: 'select * from orders where item = ?', parameters: ['tea'] }
  const look = () => kind?.look({ name: 'order', kind: 'rowPresent', fields }, { signal })
  expect(await look()).toMatchObject({ seen: 'unclear' })
  await write('quartermaster.config.json', '{ "connections": { "shop": { "sqlite": "./shop.db" } } }')
  await project.reload()
  expect(await look()).toMatchObject({ seen: 'there', count: 1 })
  await project.close()
})
