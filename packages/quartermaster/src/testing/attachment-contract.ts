import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isAttachmentGone } from '../core/attachments/index.ts'
import { remove, type Store, update } from '../core/store/index.ts'
import { openAttachments } from './attachment-fixture.ts'

const PERSON = { organisation: 'default', workspaceId: null }
const HOUR_MS = 3_600_000

/** Two pieces and a half, none like another. */
const large = Buffer.alloc(640 * 1024, createHash('sha512').update('x').digest())
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

async function* broken(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
  throw new Error('The line went dead.')
}

/** What attachments promise, whatever keeps them. Each test has a store of its own. */
export function attachmentContract(name: string, open: () => Store | Promise<Store>): void {
  describe(`an attachment in ${name}`, () => {
    it.each([
      ['nothing', Buffer.alloc(0)],
      ['a few bytes', Buffer.from('ünï ✓')],
      ['exactly one piece', large.subarray(0, 256 * 1024)],
      ['several pieces', large],
    ])('with %s comes out as it went in', async (_what, bytes) => {
      const { receive, read } = openAttachments(await open())
      const name = 'Zoë’s 報告 \u202etxt.exe / 😀'
      const facts = await receive(bytes, { name })
      expect(facts).toEqual({
        id: expect.stringMatching(/^att_/),
        name,
        mediaType: 'text/plain',
        size: bytes.length,
        sha256: sha256(bytes),
      })
      expect((await read(PERSON, facts.id)).equals(bytes)).toBe(true)
    })

    it('with the same content is kept once in an organisation, and apart in another', async () => {
      const { receive, rows } = openAttachments(await open())
      await Promise.all([receive(large), receive(large), receive(large, { name: 'b' })])
      await receive(large)
      expect(await rows()).toMatchObject({ attachments: 4, blobs: 1, chunks: 3 })
      await receive(large, { organisation: 'acme' })
      expect(await rows()).toMatchObject({ attachments: 5, blobs: 2, chunks: 6 })
    })

    it('that is cut off, or too large, leaves nothing', async () => {
      const { receive, rows, attachments } = openAttachments(await open(), { attachmentMegabytes: 1 })
      await expect(receive(broken(large))).rejects.toThrow('The line went dead.')
      await expect(receive(Buffer.alloc(1_048_577))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
      const upload = { ...PERSON, by: 'zoe', name: 'a', mediaType: 'text/plain', announcedSize: 1_048_577 }
      const unread = { [Symbol.asyncIterator]: () => expect.fail('It was read.') }
      await expect(attachments.receive(upload, unread)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
      expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
      expect(await receive(Buffer.alloc(1_048_576))).toMatchObject({ size: 1_048_576 })
    })

    it.each([
      ['changed', { bytes: Buffer.from('y'.repeat(100)) }],
      ['shorter', { bytes: Buffer.alloc(0) }],
    ])('that was %s in the store breaks off before its end, and the log says so', async (_what, set) => {
      const store = await open()
      const { receive, attachments, lines } = openAttachments(store)
      const { id } = await receive(large)
      const [last] = await store.find('chunks', { where: { position: 2 } })
      await store.commit([update('chunks', { where: { id: last?.id ?? '' }, set })])
      const { content } = await attachments.open(PERSON, id)
      let size = 0
      const reading = (async () => {
        for await (const piece of content) size += piece.length
      })()
      await expect(reading).rejects.toMatchObject({ code: 'INTERNAL' })
      expect(size).toBeLessThan(large.length)
      expect(JSON.stringify(lines)).toContain('the content of an attachment is damaged')
    })

    it.each([
      ['changed', large, { bytes: Buffer.from('y'.repeat(100)) }],
      ['shorter', large.subarray(0, 100), { bytes: Buffer.alloc(0) }],
      ['lost', Buffer.alloc(0), undefined],
    ])('that was %s in the store is whole again when the same file is handed in', async (_what, bytes, set) => {
      const store = await open()
      const { receive, read, rows, lines } = openAttachments(store)
      const before = await receive(bytes)
      const other = await receive(bytes, { organisation: 'acme' })
      const whole = await rows()
      const where = { organisation: 'default', position: 0 }
      await store.commit([set ? update('chunks', { where, set }) : remove('chunks', { where })])
      const after = await Promise.all([receive(bytes), receive(bytes)])
      for (const { id } of [before, ...after]) expect((await read(PERSON, id)).equals(bytes)).toBe(true)
      expect((await read({ ...PERSON, organisation: 'acme' }, other.id)).equals(bytes)).toBe(true)
      expect(await rows()).toEqual({ ...whole, attachments: 4 })
      expect(lines).toEqual([expect.stringContaining('was damaged, and is replaced')])
    })

    it('that is removed while it is read breaks off, and is not reported as damaged', async () => {
      const { receive, attachments, pruner, clock, lines } = openAttachments(await open())
      const { id } = await receive(large)
      const pieces = (await attachments.open(PERSON, id)).content[Symbol.asyncIterator]()
      await pieces.next()
      await clock.advance(25 * HOUR_MS)
      await pruner.prune()
      await expect(pieces.next().then(() => pieces.next())).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
      expect(lines).toEqual([])
    })
  })

  describe(`cleaning attachments in ${name}`, () => {
    it('removes unreferenced files after their time, with content that no other file shares', async () => {
      const { receive, pruner, clock, rows, read } = openAttachments(await open())
      await receive(large)
      await clock.advance(23 * HOUR_MS)
      const kept = await receive(large)
      await clock.advance(2 * HOUR_MS)
      expect(await pruner.prune()).toBe(1)
      expect((await read(PERSON, kept.id)).equals(large)).toBe(true)
      await clock.advance(24 * HOUR_MS)
      expect(await pruner.prune()).toBe(1)
      expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
    })

    it('at the same moment as uploads of the same content loses nothing of them', async () => {
      const { receive, read, pruner, clock, rows } = openAttachments(await open())
      for (let round = 0; round < 5; round++) {
        await receive(large)
        await clock.advance(25 * HOUR_MS)
        const [made] = await Promise.all([Promise.all([receive(large), receive(large)]), pruner.prune()])
        for (const { id } of made) expect((await read(PERSON, id)).equals(large)).toBe(true)
        await clock.advance(25 * HOUR_MS)
        await pruner.prune()
        expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
      }
    })

    it('leaves what a message has until the last of its rows is forgotten', async () => {
      const store = await open()
      const { receive, attachments, pruner, clock, rows } = openAttachments(store)
      const { id } = await receive(large, { workspaceId: 'ws_ada' })
      const ada = { organisation: 'default', workspaceId: 'ws_ada' }
      const bob = { organisation: 'default', workspaceId: 'ws_bob' }
      const { facts, writes } = await attachments.usesOf([id, id], ada, [
        { id: 'act_1', workspaceId: 'ws_ada', workspace: 'ada' },
        { id: 'act_2', workspaceId: 'ws_bob', workspace: 'bob' },
      ])
      expect(facts).toMatchObject([{ id }])
      await expect(attachments.factsOf(bob, id)).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
      expect(await store.commit(writes)).toMatchObject({ committed: true })
      expect(await attachments.factsOf(bob, id)).toMatchObject({ id })
      await clock.advance(48 * HOUR_MS)
      expect(await pruner.prune()).toBe(0)
      await store.commit(await attachments.releaseOf(['act_1', 'act_other']))
      await clock.advance(48 * HOUR_MS)
      expect(await pruner.prune()).toBe(0)
      await store.commit(await attachments.releaseOf(['act_2']))
      expect(await pruner.prune()).toBe(0)
      await clock.advance(48 * HOUR_MS)
      expect(await pruner.prune()).toBe(1)
      expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
    })

    it('at the very moment of a message makes the message fail, and nothing of it is there', async () => {
      const store = await open()
      const { receive, attachments, pruner, clock, rows } = openAttachments(store)
      const [gone, there] = [await receive(Buffer.from('a')), await receive(Buffer.from('b'))]
      const { writes } = await attachments.usesOf([there.id, gone.id], PERSON, [
        { id: 'act_1', workspaceId: 'ws_ada', workspace: 'ada' },
      ])
      await clock.advance(48 * HOUR_MS)
      await pruner.prune()
      const outcome = await store.commit(writes)
      expect(outcome).toMatchObject({ committed: false })
      expect(!outcome.committed && isAttachmentGone(outcome.failed)).toBe(true)
      expect(await rows()).toMatchObject({ uses: 0 })
      await expect(attachments.usesOf([gone.id], PERSON, [])).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    })

    it('takes what an upload has left half way when its process died', async () => {
      const store = await open()
      const { receive, pruner, clock, rows } = openAttachments(store)
      let release = () => {}
      const held = new Promise<void>(resolve => (release = resolve))
      const upload = receive(
        (async function* () {
          yield large
          await held
        })(),
      )
      await expect.poll(() => store.count('chunks')).toBe(2)
      expect(await pruner.prune()).toBe(0)
      await clock.advance(3 * HOUR_MS)
      expect(await pruner.prune()).toBe(1)
      release()
      await expect(upload).rejects.toMatchObject({
        code: 'CANCELLED',
        message: expect.stringContaining('took too long: it was cancelled'),
      })
      expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
    })
  })
}
