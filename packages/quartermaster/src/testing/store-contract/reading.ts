import { describe, expect, it } from 'vitest'
import { ROWS, type Table } from '../../contracts/index.ts'
import { insert, update, type Where } from '../../core/store/index.ts'
import { auditLine, openFresh, operation, pin, type StoreSubject, secret, token, upstream } from './stage.ts'

const ERROR = { code: 'INTERNAL', kind: 'internal', retry: 'later', message: '“no” – 🂡' }

/** Every column with something in it. */
const FULL = [
  insert(
    'tokens',
    token('t', {
      organisation: 'acme',
      label: 'Zoë’s laptop',
      scopes: ['call', 'read'],
      expiresAt: 2,
      revokedAt: 3,
      replacedBy: 'u',
      lastUsedAt: Number.MAX_SAFE_INTEGER,
    }),
  ),
  insert(
    'operations',
    operation('o', {
      organisation: 'acme',
      parentId: 'p',
      arguments: 's1.x.y',
      idempotencyKey: 'k',
      state: 'leased',
      attempts: 2,
      dueAt: 3,
      leaseOwner: 'w',
      leaseUntil: 4,
      fence: 5,
      outcome: 'unknown',
      effects: [{ name: 'note', kind: 'file', before: 'absent' }],
      sealedEffects: 's1.x.z',
      result: { content: [{ type: 'text', text: '\u0000 "\n' }], structuredContent: { n: [1, null] } },
      error: ERROR,
      progress: 'half',
      cancelRequestedAt: 6,
      announcedAt: 7,
      startedAt: 8,
      endedAt: 9,
      expiresAt: 10,
      keepUntil: 11,
    }),
  ),
  insert('results', {
    id: 'o.3',
    workspace: 'w',
    organisation: 'default',
    callerKind: 'agent',
    callerName: 'w',
    operationId: 'o',
    offset: 3,
    page: { text: '\u0000 "\n', offset: 3, nextOffset: 7, totalBytes: 9 },
  }),
  insert('audit', auditLine('a', { code: 'CANCELLED', consent: { operations: ['files.write'], by: 'file' } })),
  insert('secrets', secret('s', { sealed: 's1.x.y', purpose: 'mail', expiresAt: 2, lastUsedAt: 3 })),
  insert('upstreams', upstream('u', { era: 'modern', server: { name: 'files', version: '1' }, fingerprint: 'f' })),
  insert(
    'pins',
    pin('p', {
      state: 'pending',
      firstSight: false,
      listed: false,
      acceptedHash: 'cd'.repeat(32),
      acceptedDefinition: '{"name":"\\u0000"}',
      findings: [{ rule: 'hidden', strength: 'strong', field: 'title', excerpt: '…', message: 'It is hidden.' }],
      decidedAt: 2,
      decidedBy: 'Zoë',
      listedKinds: ['tool', 'prompt'],
      reworded: true,
      acceptedFindings: [{ rule: 'secret', strength: 'weak', field: 'title', excerpt: '…', message: 'It is odd.' }],
      offeredAs: 'github_search',
      offeredSince: 3,
    }),
  ),
]

/** Only what has no default. */
const BARE = [
  insert('tokens', token('t')),
  insert('operations', operation('o')),
  insert('audit', auditLine('a')),
  insert('secrets', secret('s')),
  insert('upstreams', upstream('u')),
  insert('pins', pin('p')),
]

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

export function readingContract(subject: StoreSubject): void {
  describe('a row', () => {
    it.each([
      ['with every column', FULL],
      ['with only what it needs', BARE],
    ])('%s comes back as it was written', async (_what, writes) => {
      const store = await openFresh(subject)
      expect(await store.commit(writes)).toMatchObject({ committed: true })
      for (const write of writes) {
        if (write.kind !== 'insert') continue
        const schema = ROWS[write.table as Table]
        expect(await store.get(write.table, write.row.id)).toEqual(schema.parse(write.row))
      }
    })

    it('has its bytes as they were: none, one of each, and a piece of something larger', async () => {
      const store = await openFresh(subject)
      const all = Uint8Array.from({ length: 256 }, (_, i) => i)
      const large = new Uint8Array(70_000).fill(92)
      const contents = [new Uint8Array(), all, Buffer.concat([all, all]).subarray(3, 300), large]
      const rows = contents.map((bytes, i) => ({ id: `c${i}`, workspace: 'w', blobId: 'b', position: i, bytes }))
      await store.commit(rows.map(row => insert('chunks', row)))
      const read = await store.find('chunks', { order: { by: ['id'] }, columns: ['bytes'] })
      // As texts: the difference of so many numbers would be unreadable.
      expect(read.map(({ bytes }) => hex(bytes))).toEqual(contents.map(hex))
      expect(read.every(({ bytes }) => bytes.constructor === Uint8Array)).toBe(true)
      await store.commit([update('chunks', { where: { id: 'c0' }, set: { bytes: all } })])
      expect((await store.get('chunks', 'c0'))?.bytes).toEqual(all)
      const text = insert('chunks', { ...rows[0], id: 'd', bytes: 'text' } as never)
      await expect(store.commit([text])).rejects.toMatchObject({ details: { unkeepable: 'chunks.bytes' } })
    })

    it('is visible to each read after its commit was answered', async () => {
      const store = await openFresh(subject)
      await store.commit([insert('operations', operation('a'))])
      for (let i = 1; i <= 100; i++) {
        await store.commit([update('operations', { where: { id: 'a' }, set: { attempts: i } })])
        expect((await store.get('operations', 'a'))?.attempts).toBe(i)
      }
    })

    it('that is not there is undefined', async () => {
      expect(await (await openFresh(subject)).get('tokens', 'nobody')).toBeUndefined()
    })
  })

  describe('a query', () => {
    const CASES: readonly [string, Where<'operations'>, string][] = [
      ['nothing said', {}, 'abcd'],
      ['a value', { state: 'queued' }, 'ab'],
      ['two values', { state: 'queued', attempts: 1 }, 'b'],
      ['yes or no', { mutates: false }, 'd'],
      ['one of a list', { id: { in: ['a', 'c', 'd', 'x', 'y'] } }, 'acd'],
      ['one of an empty list', { id: { in: [] } }, ''],
      ['not a value, nothing included', { leaseOwner: { not: 'w' } }, 'abd'],
      ['nothing', { leaseOwner: null }, 'ab'],
      ['something', { leaseOwner: { not: null } }, 'cd'],
      ['below', { attempts: { below: 2 } }, 'ab'],
      ['at most', { attempts: { atMost: 2 } }, 'abc'],
      ['above', { attempts: { above: 2 } }, 'd'],
      ['at least', { attempts: { atLeast: 2 } }, 'cd'],
      ['the same letters in another case', { leaseOwner: { otherCaseOf: 'W' }, id: { not: 'd' } }, 'c'],
      ['another case of what is written like this alone', { leaseOwner: { otherCaseOf: 'w' } }, ''],
      ['a time that many do not have', { state: 'leased', leaseUntil: { atMost: 50 } }, 'c'],
    ]

    it.each(CASES)('finds the rows with %s', async (_what, where, ids) => {
      const store = await openFresh(subject)
      await store.commit([
        insert('operations', operation('a')),
        insert('operations', operation('b', { attempts: 1 })),
        insert('operations', operation('c', { state: 'leased', attempts: 2, leaseOwner: 'w', leaseUntil: 50 })),
        insert('operations', operation('d', { state: 'leased', attempts: 3, leaseOwner: 'v', mutates: false })),
      ])
      const rows = await store.find('operations', { where, order: { by: ['id'] }, columns: ['id'] })
      expect(rows.map(({ id }) => id).join('')).toBe(ids)
      expect(await store.count('operations', where)).toBe(ids.length)
    })

    it.each(['ascending', 'descending'] as const)('pages %s without losing or repeating a row', async direction => {
      const store = await openFresh(subject)
      // Three rows share each time, and a page of seven ends in the middle of them.
      const lines = Array.from({ length: 50 }, (_, i) => auditLine(`a${i}`, { at: Math.floor(i / 3) }))
      await store.commit(lines.map(line => insert('audit', line)))
      const seen: string[] = []
      let after: [number, string] | undefined
      do {
        const page = await store.find('audit', {
          where: { organisation: 'default', workspace: 'researcher' },
          order: { by: ['at', 'id'], direction },
          limit: 7,
          columns: ['at', 'id'],
          ...(after ? { after } : {}),
        })
        seen.push(...page.map(({ id }) => id))
        const last = page.at(-1)
        after = last && [last.at, last.id]
      } while (after)
      const byTime = lines.toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)).map(({ id }) => id)
      expect(seen).toEqual(direction === 'ascending' ? byTime : byTime.toReversed())
    })

    it('gives only the columns that were asked for', async () => {
      const store = await openFresh(subject)
      await store.commit([insert('operations', operation('a', { progress: 'half' }))])
      expect(await store.find('operations', { columns: ['progress', 'id', 'effects'] })).toEqual([
        { progress: 'half', id: 'a', effects: [] },
      ])
    })

    it('gives 100 rows unless told otherwise, and never more than 1,000', async () => {
      const store = await openFresh(subject)
      await store.commit(Array.from({ length: 120 }, (_, i) => insert('secrets', secret(`s${i}`))))
      expect(await store.find('secrets', {})).toHaveLength(100)
      expect(await store.find('secrets', { limit: 1_000 })).toHaveLength(120)
      for (const limit of [0, 1.5, 1_001]) {
        await expect(store.find('secrets', { limit })).rejects.toMatchObject({ code: 'INTERNAL' })
      }
    })
  })
}
