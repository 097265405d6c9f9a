import { describe, expect, it } from 'vitest'
import type { Store } from '../core/store/index.ts'
import { family } from './memory-fixture.ts'

/** What recall promises, on every store. Each test has an organisation of its own, so that all share one store. */
export function memoryContract(name: string, open: () => Store): void {
  describe(`memory in ${name}`, () => {
    it.each([
      ['any of the words', 'red OR purple', ['The door is red.']],
      ['another form of a word', 'painting doors', ['The door is red.', 'She paints every morning.']],
      ['a word without its accent', 'cafe', ['Le café ferme à midi.']],
      ['a word of a language without spaces', '東京', ['東京のサーバーは火曜日に再起動する。']],
      ['one character of it', '京', ['東京のサーバーは火曜日に再起動する。']],
      ['a word between such', 'iPhone', ['新しいiPhoneを買った']],
      ['another alphabet', 'сервер', ['Наш сервер стоит в подвале.']],
      ['a word with vowels that are no letters', 'किताब', ['मेरी किताब मेज़ पर है।']],
      ['a word of Arabic', 'الخادم', ['الخادم في برلين']],
      ['a word of Thai', 'เซิร์ฟเวอร์', ['เซิร์ฟเวอร์อยู่ที่เชียงใหม่']],
      ['a part of an identifier', 'deploy', ['Run deployServer before noon.']],
      ['quotes and stars as nothing', '"door* NEAR(', ['The door is red.']],
      ['what could end a text of SQL', `'; drop table memories; -- door`, ['The door is red.']],
      ['a column of the index as a word', 'shelf:door', ['The door is red.']],
      ['a word that says nothing when there is no other', 'every', ['She paints every morning.']],
      ['no word that is there', 'zeppelin', []],
      ['no word at all', '!!! …', []],
    ])('finds memories by %s', async (_what, query, expected) => {
      const { ada, keep, found } = family(open())
      for (const content of CONTENTS) await keep(ada, content)
      expect((await found(ada, query)).toSorted()).toEqual(expected.toSorted())
    })

    it('puts what fits more words first, then what is rarer, then what is newer', async () => {
      const { ada, clock, keep, found } = family(open())
      await keep(ada, 'the backup runs at night')
      await clock.advance(90 * DAY)
      for (let i = 0; i < 5; i++) await keep(ada, `server number ${i} was moved`)
      await clock.advance(DAY)
      await keep(ada, 'the backup of the server runs at noon')
      await clock.advance(DAY)
      await keep(ada, 'the backup runs in the morning')
      expect((await found(ada, 'server backup')).slice(0, 3)).toEqual([
        'the backup of the server runs at noon',
        'the backup runs in the morning',
        'the backup runs at night',
      ])
    })

    it('lifts what stands beside a match in the same conversation, and shows it as context', async () => {
      const { ada, memory, keep, found } = family(open())
      await keep(ada, 'Mia: Which instrument does your sister play in the orchestra?', 'LOCAL', 'c1')
      await keep(ada, 'Tom: The cello, since she was six.', 'LOCAL', 'c1')
      await keep(ada, 'Tom: I bought bread.', 'LOCAL', 'c2')
      expect(await found(ada, 'sister orchestra instrument')).toEqual([
        'Mia: Which instrument does your sister play in the orchestra?',
        'Tom: The cello, since she was six.',
      ])
      const { memories } = await memory.recall(ada, { query: 'cello' })
      expect(memories[0]?.content).toBe('Tom: The cello, since she was six.')
      const one = await memory.recall(ada, { query: 'cello', limit: 1 })
      expect(one.memories[0]?.neighbours).toMatchObject([{ stands: 'before', content: /^Mia: Which/ }].map(loose))
    })

    it('lists the newest first when nothing is asked, of all scopes or of one', async () => {
      const { root, ada, bob, keep, found } = family(open())
      await keep(ada, 'one')
      await keep(bob, 'two', 'TEAM')
      await keep(root, 'three', 'GLOBAL')
      await keep(bob, 'not for ada')
      expect(await found(ada, '')).toEqual(['three', 'two', 'one'])
      expect(await found(ada, '  ', { scope: 'TEAM' })).toEqual(['two'])
      expect(await found(ada, 'one two three', { scope: 'GLOBAL' })).toEqual(['three'])
    })

    it('lists everything of an organisation for its owner, page by page, and nothing of another', async () => {
      const { root, ada, bob, memory, organisation, keep } = family(open())
      const other = family(open())
      await keep(ada, 'one')
      await other.keep(other.ada, 'not ours')
      await keep(bob, 'two', 'TEAM')
      await keep(root, 'three', 'GLOBAL')
      const first = await memory.listAny(organisation, { limit: 2 })
      expect(first.memories.map(({ content }) => content)).toEqual(['three', 'two'])
      const last = await memory.listAny(organisation, { limit: 2, cursor: first.nextCursor ?? '' })
      expect(last).toMatchObject({ memories: [{ content: 'one' }], nextCursor: null })
      expect((await memory.listAny(organisation, { scope: 'TEAM' })).memories).toMatchObject([{ content: 'two' }])
    })

    it('finds the answer to a question about what was said, and what one could only know by asking on', async () => {
      const { ada, keep, found } = family(open())
      await keep(ada, 'Mia: The backup failed last night.', 'LOCAL', 'c1')
      await keep(ada, 'Tom: Again? What did the log say?', 'LOCAL', 'c1')
      await keep(ada, 'Mia: Disk full, somebody put the drone films there.', 'LOCAL', 'c1')
      await keep(ada, 'Tom: I bought bread.', 'LOCAL', 'c2')
      expect(await found(ada, 'why did the backup fail')).toEqual([
        'Mia: The backup failed last night.',
        'Mia: Disk full, somebody put the drone films there.',
        'Tom: Again? What did the log say?',
      ])
    })

    it('finds memories by another word for what is asked, after those that have the word', async () => {
      const { ada, keep, found } = family(open())
      await keep(ada, 'Her mum lives in Porto.')
      await keep(ada, 'Her mother has a boat.')
      expect(await found(ada, 'mother')).toEqual(['Her mother has a boat.', 'Her mum lives in Porto.'])
    })

    it.each(['', 'fact'])('pages “%s” without losing or repeating one while others are added', async query => {
      const { ada, root, memory, keep } = family(open())
      for (let i = 0; i < 23; i++)
        await keep(i % 2 ? ada : root, `fact ${i}${' more'.repeat(i % 5)}`, i % 2 ? 'LOCAL' : 'GLOBAL')
      const seen: string[] = []
      let cursor: string | undefined
      for (let page = 0; ; page++) {
        const { memories, nextCursor } = await memory.recall(ada, { query, limit: 5, cursor })
        seen.push(...memories.map(({ content }) => content))
        if (nextCursor === null) break
        cursor = nextCursor
        await keep(ada, `fact of page ${page}`)
        await keep(root, `another fact of page ${page}`, 'GLOBAL')
      }
      expect(seen).toHaveLength(23)
      expect(new Set(seen).size).toBe(23)
      expect(seen.some(content => content.includes('page'))).toBe(false)
    })

    it.each(['', 'fact'])('pages “%s” without losing one while those that were shown are forgotten', async query => {
      const { ada, memory, keep } = family(open())
      for (let i = 0; i < 30; i++) await keep(ada, `fact ${i}${' more'.repeat(i % 7)}${i % 3 ? '' : ' fact'}`)
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await memory.recall(ada, { query, limit: 5, cursor })
        seen.push(...page.memories.map(({ content }) => content))
        for (const { id } of page.memories) await memory.forget(ada, id)
        cursor = page.nextCursor ?? undefined
      } while (cursor !== undefined)
      expect(seen).toHaveLength(30)
      expect(new Set(seen).size).toBe(30)
    })

    it('goes on behind those that were looked at first, each once and none lost, also when the shown are forgotten', async () => {
      const { ada, memory, keep } = family(open())
      const kinds = ['red', 'red green', 'red green blue', 'blue', 'green blue pink']
      for (let i = 0; i < 90; i++)
        await keep(ada, `${kinds[i % 5]} ${i}${' more'.repeat(i % 7)}`, 'LOCAL', i % 4 ? undefined : `c${i % 3}`)
      async function walk(after: (id: string) => Promise<unknown>) {
        const seen: string[] = []
        let cursor: string | undefined
        do {
          const page = await memory.recall(ada, { query: 'red green blue pink', cursor })
          seen.push(...page.memories.map(({ content }) => content))
          for (const { id } of page.memories) await after(id)
          cursor = page.nextCursor ?? undefined
        } while (cursor !== undefined)
        return seen
      }
      const seen = await walk(async () => {})
      expect([seen.length, new Set(seen).size]).toEqual([90, 90])
      // What stood beside a forgotten one may come a second time.
      expect(new Set(await walk(id => memory.forget(ada, id))).size).toBe(90)
    })

    it.each(['', 'chapter'])('ends a page of “%s” early where the memories are large, and loses none', async query => {
      const { ada, memory, keep } = family(open())
      for (let i = 0; i < 5; i++) await keep(ada, `chapter ${i} ${'word '.repeat(12_000)}`)
      const pages: number[] = []
      let cursor: string | undefined
      do {
        const { memories, nextCursor } = await memory.recall(ada, { query, cursor })
        pages.push(memories.length)
        cursor = nextCursor ?? undefined
      } while (cursor !== undefined)
      expect(pages).toEqual([2, 2, 1])
    })

    it('gives a cursor that can stand in an address as it is, however long the question', async () => {
      const { ada, memory, keep } = family(open())
      const query = Array.from({ length: 30 }, (_, i) => `term${String.fromCharCode(97 + (i % 26))}x${i}`).join(' ')
      for (let i = 0; i < 40; i++) await keep(ada, `${query} ${i}`)
      for (const asked of ['', query]) {
        const cursors: string[] = []
        for (let cursor: string | undefined | null; cursor !== null; cursors.push(cursor ?? ''))
          cursor = (await memory.recall(ada, { query: asked, limit: 1, cursor })).nextCursor
        expect(cursors).toHaveLength(40)
        expect(cursors.filter(cursor => !/^[\w-]{0,512}$/.test(cursor))).toEqual([])
      }
    })

    it('refuses the cursor of another question', async () => {
      const { ada, memory, keep } = family(open())
      for (let i = 0; i < 3; i++) await keep(ada, `fact ${i}`)
      const { nextCursor } = await memory.recall(ada, { query: 'fact', limit: 1 })
      const cursor = nextCursor ?? ''
      for (const wish of [{ query: 'facts' }, { query: 'fact', scope: 'LOCAL' as const }, { query: '' }])
        await expect(memory.recall(ada, { ...wish, cursor })).rejects.toMatchObject({ code: 'CURSOR_GONE' })
      await expect(memory.recall(ada, { query: 'fact', cursor: 'zz' })).rejects.toMatchObject({ code: 'CURSOR_GONE' })
    })

    it.each(['', 'fact'])('shows no more than can be read, whatever is made of a cursor of “%s”', async query => {
      const { ada, bob, memory, keep } = family(open())
      for (let i = 0; i < 3; i++) await keep(ada, `fact ${i}`)
      await keep(bob, 'a fact of another')
      const { nextCursor } = await memory.recall(ada, { query, limit: 1 })
      const [mark, ...numbers] = JSON.parse(atob(nextCursor ?? '')) as [string, ...number[]]
      const seen = new Set<string>()
      for (const at of numbers.keys())
        for (const value of [0, -1, 0.5, 1e15, Number.MAX_SAFE_INTEGER, 1e300, null, 'x']) {
          const cursor = btoa(JSON.stringify([mark, ...numbers.with(at, value as number)]))
          const told = await memory.recall(ada, { query, cursor }).then(
            ({ memories }) => memories.map(({ provenance }) => provenance.workspaceName),
            (error: { code: string }) => [error.code],
          )
          for (const one of told) seen.add(one)
        }
      expect([...seen].toSorted()).toEqual(['CURSOR_GONE', 'ada'])
    })

    it('finds a changed memory by what it says now, and a forgotten one by nothing', async () => {
      const { ada, memory, keep, found } = family(open())
      const { id } = await keep(ada, 'the password policy is weekly')
      const { memory: changed, outcome } = await memory.update({ workspace: ada }, id, { content: 'it is monthly' })
      expect(outcome).toBe('updated')
      expect(changed).toMatchObject({ id, version: 2, provenance: { updatedBy: 'ada' } })
      expect(await found(ada, 'weekly')).toEqual([])
      expect(await found(ada, 'monthly')).toEqual(['it is monthly'])
      expect(await memory.forget(ada, id)).toEqual({ id, forgotten: true })
      expect(await memory.forget(ada, id)).toEqual({ id, forgotten: false })
      expect(await found(ada, 'monthly')).toEqual([])
    })

    it('keeps the same content once in a scope, also when it is committed at the same moment', async () => {
      const { ada, bob, memory, found } = family(open())
      const commits = [ada, bob, ada, bob].map(workspace =>
        memory.commit({ workspace }, { content: 'We meet on Mondays.', scope: 'TEAM' }),
      )
      const outcomes = (await Promise.all(commits)).map(({ outcome }) => outcome)
      expect(outcomes.toSorted()).toEqual(['created', 'known', 'known', 'known'])
      expect(await found(bob, 'mondays')).toEqual(['We meet on Mondays.'])
    })

    it('takes no more than an author may have in a scope, and goes on once one is forgotten', async () => {
      const { ada, bob, memory, keep } = family(open(), { workspaceMemories: 3 })
      const kept = []
      for (const content of ['one', 'two', 'three']) kept.push(await keep(ada, content, 'TEAM'))
      await expect(keep(ada, 'four', 'TEAM')).rejects.toMatchObject({
        code: 'LIMIT_EXCEEDED',
        message: expect.stringMatching(/"ada" has 3 TEAM memories.*Forget some.*workspaceMemories/),
      })
      expect(await memory.commit({ workspace: ada }, { content: 'two', scope: 'TEAM' })).toMatchObject({
        outcome: 'known',
      })
      await memory.update({ workspace: ada }, kept[0]?.id ?? '', { content: 'one and four' })
      await keep(ada, 'four')
      await keep(bob, 'four', 'TEAM')
      await memory.forget(ada, kept[1]?.id ?? '')
      await keep(ada, 'five', 'TEAM')
    })

    it('takes none from another scope either that are more than an author may have', async () => {
      const { ada, memory, keep, found } = family(open(), { workspaceMemories: 3 })
      for (const content of ['one', 'two', 'three']) await keep(ada, content, 'TEAM')
      const { id } = await keep(ada, 'four')
      const move = () => memory.update({ workspace: ada }, id, { content: 'four', scope: 'TEAM' })
      await expect(move()).rejects.toMatchObject({
        code: 'LIMIT_EXCEEDED',
        message: expect.stringContaining('"ada" has 3 TEAM memories'),
      })
      expect(await memory.update({ workspace: ada }, id, { content: 'four, or five' })).toMatchObject({
        outcome: 'updated',
        memory: { scope: 'LOCAL' },
      })
      const [first] = (await memory.recall(ada, { query: 'one', scope: 'TEAM' })).memories
      await memory.forget(ada, first?.id ?? '')
      expect(await move()).toMatchObject({ outcome: 'updated', memory: { scope: 'TEAM' } })
      expect(await found(ada, 'four')).toEqual(['four'])
    })

    it('lets one of two updates through that were made from the same version', async () => {
      const { ada, memory, keep } = family(open())
      const { id, version } = await keep(ada, 'one')
      const updates = ['two', 'three'].map(content => memory.update({ workspace: ada }, id, { content, version }))
      const [won, lost] = (await Promise.allSettled(updates)).toSorted((a, b) => (a.status < b.status ? -1 : 1))
      expect(won).toMatchObject({ status: 'fulfilled', value: { memory: { version: 2 } } })
      expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'EDIT_CONFLICT' } })
    })

    it('answers an update that was made before with what is there, and counts nothing', async () => {
      const { ada, memory, keep } = family(open())
      const { id } = await keep(ada, 'one')
      const change = () => memory.update({ workspace: ada }, id, { content: 'two', version: 1 })
      expect(await change()).toMatchObject({ outcome: 'updated', memory: { version: 2 } })
      expect(await change()).toMatchObject({ outcome: 'known', memory: { id, version: 2, content: 'two' } })
    })

    it('finds the few that fit among many, whatever the words that all of them have', async () => {
      const { ada, keep, found } = family(open())
      await keep(ada, 'project note: the key to the cellar hangs behind the calendar')
      for (let i = 0; i < 260; i++) await keep(ada, `project note: number ${i} of the calendar`)
      expect((await found(ada, 'project note calendar cellar'))[0]).toContain('cellar')
    })
  })
}

const DAY = 86_400_000

const CONTENTS = [
  'The door is red.',
  'She paints every morning.',
  'Le café ferme à midi.',
  '東京のサーバーは火曜日に再起動する。',
  '新しいiPhoneを買った',
  'Наш сервер стоит в подвале.',
  'Run deployServer before noon.',
  'मेरी किताब मेज़ पर है।',
  'तब बारिश हो रही थी।',
  'الخادم في برلين',
  'القهوة في المطبخ',
  'เซิร์ฟเวอร์อยู่ที่เชียงใหม่',
  'ฝนตกทุกวัน',
]

function loose({ stands, content }: { stands: string; content: RegExp }) {
  return { stands, content: expect.stringMatching(content) }
}
