import { expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import type { NewsListener } from '../../core/store/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { followTable } from './events.ts'

it('looks at what was changed elsewhere, once more for all that came while it looked, and also after a failure', async () => {
  let told: NewsListener | undefined
  const news = { listen: (listener: NewsListener) => ((told = listener), () => {}), isHeard: () => true }
  const looks = [deferred(), deferred(), deferred()]
  let count = 0
  const look = () => looks[count++]?.promise ?? Promise.resolve()
  followTable(news, { table: 'pins', log: silentLog, warning: 'It could not be read.', look })
  told?.changed([{ table: 'tokens', ids: ['t'] }])
  expect(count).toBe(0)
  for (let i = 0; i < 5; i++) told?.changed([{ table: 'pins', ids: ['p'] }])
  expect(count).toBe(1)
  looks[0]?.reject(new Error('The store is away.'))
  await expect.poll(() => count).toBe(2)
  looks[1]?.resolve()
  await new Promise(resolve => setImmediate(resolve))
  told?.back()
  expect(count).toBe(3)
})
