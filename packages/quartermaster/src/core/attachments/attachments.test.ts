import { expect, it } from 'vitest'
import { attachmentContract } from '../../testing/attachment-contract.ts'
import { openAttachments } from '../../testing/attachment-fixture.ts'
import { createMemoryStore } from '../../testing/memory-store.ts'

const PERSON = { organisation: 'default', workspaceId: null }
const HOUR_MS = 3_600_000

attachmentContract('memory', createMemoryStore)

it('an attachment is for whoever handed it in, and for persons of the organisation; to all others there is none', async () => {
  const { receive, attachments } = openAttachments(createMemoryStore())
  const { id } = await receive(Buffer.from('x'), { workspaceId: 'ws_ada' })
  expect(await attachments.factsOf({ organisation: 'default', workspaceId: 'ws_ada' }, id)).toMatchObject({ id })
  expect(await attachments.factsOf(PERSON, id)).toMatchObject({ id })
  for (const [organisation, workspaceId] of [
    ['default', 'ws_bob'],
    ['acme', null],
    ['acme', 'ws_ada'],
  ] as const) {
    const refused = await attachments.factsOf({ organisation, workspaceId }, id).catch((error: Error) => error)
    const none = await attachments.factsOf(PERSON, 'att_none').catch((error: Error) => error)
    expect(refused).toMatchObject({ code: 'NAME_UNKNOWN' })
    expect((refused as Error).message.replace(id, 'att_none')).toBe((none as Error).message)
  }
})

it('an attachment is refused to whoever keeps many that no message has', async () => {
  const { receive } = openAttachments(createMemoryStore())
  await Promise.all(Array.from({ length: 200 }, (_, i) => receive(Buffer.from(`${i}`), { workspaceId: 'ws_ada' })))
  await expect(receive(Buffer.from('x'), { workspaceId: 'ws_ada' })).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  await receive(Buffer.from('x'), { workspaceId: 'ws_bob' })
  // A person may be called as a workspace is.
  await receive(Buffer.from('x'), { by: 'ws_ada' })
})

it('cleaning takes the pieces of a large file a few at a time, and goes on where somebody was cut off', async () => {
  const store = createMemoryStore()
  const { receive, pruner, clock, rows } = openAttachments(store)
  await receive(Buffer.alloc(64 * 256 * 1024))
  await clock.advance(25 * HOUR_MS)
  let commits = 0
  const commit = store.commit.bind(store)
  store.commit = async writes => {
    if (writes.some(({ table }) => table === 'chunks') && ++commits === 2) throw new Error('The power went.')
    return commit(writes)
  }
  await expect(pruner.prune()).rejects.toThrow('The power went.')
  expect(await rows()).toEqual({ attachments: 0, blobs: 1, chunks: 32, uses: 0 })
  expect(await pruner.prune()).toBe(1)
  expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
})
