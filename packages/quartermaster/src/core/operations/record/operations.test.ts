import { describe, expect, it } from 'vitest'
import type { Caller, NewRow } from '../../../contracts/index.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import { auditLine, operation } from '../../../testing/store-contract/stage.ts'
import { insert } from '../../store/index.ts'
import { createOperations, type OperationFilter } from '../index.ts'

const ADA: Caller = { kind: 'agent', organisation: 'default', name: 'ada', workspace: 'ada' }
const EVE: Caller = { kind: 'agent', organisation: 'default', name: 'eve', workspace: 'eve' }

async function operationsWith(rows: readonly NewRow<'operations'>[], lines: readonly NewRow<'audit'>[] = []) {
  const storage = memoryStorage()
  const writes = [...rows.map(row => insert('operations', row)), ...lines.map(line => insert('audit', line))]
  await storage.store.commit(writes)
  const operations = createOperations({ storage, log: { running: () => [] }, deliveries: { expect() {} } })
  return { storage, operations }
}

const of = (agent: string) => ({ workspace: agent, callerName: agent })

describe('operations', () => {
  it('are visible to their own workspace alone', async () => {
    const { operations } = await operationsWith([operation('op_1', of('ada'))])
    expect(await operations.show(ADA, 'op_1')).toMatchObject({ id: 'op_1', agent: 'ada', tool: 'send_mail' })
    expect(await operations.show(EVE, 'op_1')).toBeUndefined()
    expect(await operations.show(ADA, 'op_2')).toBeUndefined()
  })

  it('are all visible to the owner of the folder, with an error for one that is missing', async () => {
    const { operations } = await operationsWith([operation('op_1', of('ada'))])
    expect(await operations.find('default', 'op_1')).toMatchObject({ id: 'op_1' })
    await expect(operations.find('default', 'op_2')).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('show the names of their arguments and none of the values', async () => {
    const { storage } = await operationsWith([])
    const place = { table: 'operations', id: 'op_1', column: 'arguments' } as const
    const { sealer } = await storage.open()
    const sealed = sealer.seal('{"password":"hunter2","to":{"bob":1}}', place)
    const { operations } = await operationsWith([operation('op_1', { arguments: sealed })])
    const facts = await operations.find('default', 'op_1')
    expect(facts.arguments).toEqual({ password: '•••', to: '•••' })
    expect(JSON.stringify(facts)).not.toMatch(/hunter2|bob/)
  })

  it('are shown without arguments when the key is gone', async () => {
    const { operations } = await operationsWith([operation('op_1', { arguments: 's1.aaaaaaaa.bbbb' })])
    expect(await operations.find('default', 'op_1')).not.toHaveProperty('arguments')
  })

  it('are listed newest first, page by page, by agent and state', async () => {
    const rows = Array.from({ length: 25 }, (_, i) =>
      operation(`op_${i}`, {
        ...of(i % 2 === 0 ? 'ada' : 'eve'),
        createdAt: Math.floor(i / 3),
        state: i < 5 ? 'unknown' : 'succeeded',
      }),
    )
    const { operations } = await operationsWith(rows)
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await operations.list({ organisation: 'default', limit: 7, cursor })
      seen.push(...page.operations.map(({ id }) => id))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(seen).toHaveLength(25)
    expect(new Set(seen).size).toBe(25)
    expect(seen[0]).toBe('op_24')
    const unknown = await operations.list({ organisation: 'default', agent: 'ada', state: 'unknown' })
    expect(unknown).toMatchObject({ operations: [{ id: 'op_4' }, { id: 'op_2' }, { id: 'op_0' }] })
    expect(unknown).not.toHaveProperty('nextCursor')
  })

  it('are listed alone where a person can have them tried again', async () => {
    const rows = [
      operation('op_1', { state: 'exhausted', arguments: 's1.a.b', createdAt: 1 }),
      operation('op_2', { state: 'unknown', arguments: 's1.a.b', createdAt: 2 }),
      operation('op_3', { state: 'expired', arguments: null, createdAt: 3 }),
      operation('op_4', { state: 'queued', arguments: 's1.a.b', createdAt: 4 }),
      operation('op_5', { state: 'failed', arguments: null, createdAt: 5 }),
    ]
    const { operations } = await operationsWith(rows)
    const ids = async (filter: Partial<OperationFilter>) =>
      (await operations.list({ organisation: 'default', ...filter })).operations.map(({ id }) => id)
    expect(await ids({ canRetry: true })).toEqual(['op_2', 'op_1'])
    expect(await ids({ canRetry: true, state: 'unknown' })).toEqual(['op_2'])
    expect(await ids({ canRetry: true, state: 'failed' })).toEqual([])
    expect(await operations.find('default', 'op_1')).toMatchObject({ canRetry: true })
    for (const id of ['op_3', 'op_4', 'op_5'])
      expect(await operations.find('default', id)).not.toHaveProperty('canRetry')
  })

  it.each(['', 'x', '12', '12.', '12.op 1', '-1.op'])('take no cursor that no page gave: %j', async cursor => {
    const { operations } = await operationsWith([])
    await expect(operations.list({ organisation: 'default', cursor })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})

describe('the audit', () => {
  it('is read newest first, by agent, tool and time', async () => {
    const lines = [
      auditLine('a1', { ...of('ada'), at: 1 }),
      auditLine('a2', { ...of('ada'), at: 2, tool: 'look' }),
      auditLine('a3', { ...of('eve'), at: 3 }),
      auditLine('a4', { ...of('ada'), at: 4 }),
    ]
    const { operations } = await operationsWith([], lines)
    const ids = async (filter: object) =>
      (await operations.audit({ organisation: 'default', ...filter })).lines.map(({ id }) => id)
    expect(await ids({})).toEqual(['a4', 'a3', 'a2', 'a1'])
    expect(await ids({ agent: 'ada' })).toEqual(['a4', 'a2', 'a1'])
    expect(await ids({ agent: 'ada', tool: 'look' })).toEqual(['a2'])
    expect(await ids({ since: 3 })).toEqual(['a4', 'a3'])
    const first = await operations.audit({ organisation: 'default', limit: 3 })
    expect(first.nextCursor).toBe('2.a2')
    expect(await ids({ cursor: first.nextCursor })).toEqual(['a1'])
  })
})
