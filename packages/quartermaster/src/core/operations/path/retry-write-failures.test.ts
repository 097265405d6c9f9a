import { describe, expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { type FaultyStorage, faultyStorage } from '../../../testing/faulty-storage.ts'
import { createHub, simpleCapability, simpleTool } from '../../../testing/hub.ts'
import type { Write } from '../../store/index.ts'

/** A tool that may be tried again, and whose first run finds the door closed. */
async function consentService() {
  const storage = faultyStorage()
  let runs = 0
  const pay = simpleTool('pay', {
    mutates: true,
    idempotent: true,
    retry: 'replay',
    handler: () => {
      if (++runs === 1) throw new AppError('DEPENDENCY_UNAVAILABLE', 'Closed.')
      return 'paid'
    },
  })
  const hub = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [pay])] } },
    agents: { ada: { capabilities: { main: {} } } },
    storage,
  })
  hub.work()
  return { hub, storage, store: storage.store, runs: () => runs }
}

const isStep = ([first]: readonly Write[]) => first?.kind === 'update' && first.table === 'operations'

/** Two ways in which a store does not write the step in time; answers how to have it write again. */
const TROUBLES: Record<string, (storage: FaultyStorage) => () => void> = {
  'does not answer': storage => {
    const gate = deferred<void>()
    storage.fault = async writes => {
      if (isStep(writes)) await gate.promise
      return undefined
    }
    return gate.resolve
  },
  'is busy': storage => {
    storage.fault = writes => (isStep(writes) ? { error: new AppError('STORE_BUSY', 'Busy.') } : undefined)
    return () => (storage.fault = () => undefined)
  },
}

describe('a call that is to be tried again, while the store cannot write that', () => {
  it.each(Object.keys(TROUBLES))('is answered with a handle and done once: the store %s', async trouble => {
    const { hub, storage, store, runs } = await consentService()
    const fix = TROUBLES[trouble]?.(storage)
    const calling = hub.callAs('ada', 'pay')
    calling.catch(() => {})
    await hub.clock.advance(6_000)
    const { waiting, operationId } = await calling
    expect(waiting).toMatchObject({ status: 'waiting', for: 'retry', operationId })
    fix?.()
    await hub.clock.advance(120_000)
    expect(await store.find('operations', { columns: ['id', 'state'] })).toEqual([
      { id: operationId, state: 'succeeded' },
    ])
    expect(runs()).toBe(2)
  })
})
