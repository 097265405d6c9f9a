import { describe, expect, it } from 'vitest'
import { openDataFolder } from '../adapters/data-folder/index.ts'
import { createSealer } from '../adapters/sealing/index.ts'
import { createSystemClock, silentLog } from '../adapters/system/index.ts'
import { createMemoryStore } from '../testing/memory-store.ts'
import { tempProject } from '../testing/temp-project.ts'
import { openDatabase } from './open-database.ts'
import { proveSameKey } from './sealing-witness.ts'
import { readStoreChoice } from './store-choice.ts'

describe('the sealing key of a database', () => {
  const clock = createSystemClock()

  it('is refused when it is none, without being shown', async () => {
    const folder = openDataFolder((await tempProject()).path('data'))
    const env = { DATABASE_URL: 'postgresql://ada@127.0.0.1:1/none', QUARTERMASTER_SEALING_KEY: 'hunter2' }
    const opening = openDatabase({ folder, choice: readStoreChoice(env), clock, log: silentLog })
    const error = await opening.catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('QUARTERMASTER_SEALING_KEY'),
    })
    expect(String(error)).not.toContain('hunter2')
  })

  it('has to be that of whoever came first, of several who come at once too', async () => {
    const store = createMemoryStore()
    const prove = (fill: number) =>
      proveSameKey({ store, sealer: createSealer({ key: Buffer.alloc(32, fill) }), clock, place: 'there' })
    const ends = await Promise.allSettled([prove(1), prove(2), prove(1)])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await prove(1)
    await expect(prove(2)).rejects.toMatchObject({ code: 'CONFIG_INVALID', details: { place: 'there' } })
  })
})

it('a variable that is set to nothing names no store', () => {
  expect(readStoreChoice({ DATABASE_URL: ' ', QUARTERMASTER_SEALING_KEY: '' })).toEqual({})
})
