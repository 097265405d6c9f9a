import { describe, expect, it } from 'vitest'
import { notesFixture } from '../../testing/notes-fixture.ts'

/** A generator of numbers that gives the same ones for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const PIECES = [
  '- [ ] [[Tasks/One]] 📅 2026-01-01 #home',
  '\t- [ ] nested  ',
  '- [x] done ✅ 2025-01-01',
  '  * [ ] other 🔼 ^b-2',
  '# Heading #',
  '```',
  '~~~js',
  '%%',
  '<!--',
  '-->',
  '',
  '   ',
  '---',
  'due: 2026-01-01',
  'tags: [a, b] # mine',
  '> quote',
  'text with\ttabs and \u00a0 and \u200d and 🌱 and e\u0301',
  '\u2028\u0085\v\f',
  'lone \r in a line',
  '[[Tasks/Target]] - [ ] no',
]
const ENDS = ['\n', '\r\n', '\n', '\r\n', '\n\n']

/** Something that may stand in a note; the task that is to be changed is in it once. */
function randomNote(random: () => number): string {
  const pick = <T>(from: readonly T[]) => from[Math.floor(random() * from.length)] as T
  const some = () => Array.from({ length: Math.floor(random() * 12) }, () => pick(PIECES) + pick(ENDS)).join('')
  const target = `${pick(['- ', '\t* ', '  1. '])}[ ] [[Tasks/Target${pick(['', '|the target'])}]]${pick(['', ' ⏫', '  ', ' ^id'])}`
  const end = random() < 0.3 ? '' : pick(ENDS) + some()
  return `${random() < 0.2 ? '\uFEFF' : ''}${some()}${target}${end}`
}

describe.each([1, 2, 3, 4])('of random notes, with seed %i,', seed => {
  it('every line but the one that is changed stays byte for byte', async () => {
    const random = randomFrom(seed)
    const desk = await notesFixture()
    let changed = 0
    for (let round = 0; round < 25; round++) {
      const before = randomNote(random)
      await desk.project.write('vault/Tasks.md', before)
      const edit = [
        () => desk.complete({ task: 'Tasks/Target' }),
        () => desk.update({ task: 'Tasks/Target', due: '2026-12-01' }),
        () => desk.update({ task: 'Tasks/Target', tags: ['new'], status: 'cancelled' }),
      ][round % 3] as () => ReturnType<typeof desk.complete>
      const { ok, data } = await edit()
      const after = await desk.note('Tasks.md')
      // In code or in a comment it is no task. Then no line is named, and none may differ.
      expect(otherLines(after, data.line)).toEqual(otherLines(before, data.line))
      if (ok) changed++
    }
    expect(changed).toBeGreaterThan(5)
  })

  it('all that was there is still there, in front of what is added', async () => {
    const random = randomFrom(seed * 1_000)
    const desk = await notesFixture()
    for (let round = 0; round < 25; round++) {
      const before = randomNote(random)
      await desk.project.write('vault/Tasks.md', before)
      await desk.create({ title: `New ${round}` }, { operationId: `op_${round}` })
      const created = await desk.note('Tasks.md')
      expect(created.startsWith(before)).toBe(true)
      expect(created.slice(before.length)).toMatch(
        new RegExp(`^(\\r?\\n)?- \\[ \\] \\[\\[Tasks/New ${round}\\]\\]\\r?\\n$`),
      )
      await desk.append({ note: 'Tasks', text: 'added' })
      expect((await desk.note('Tasks.md')).startsWith(created)).toBe(true)
    }
  })
})

function otherLines(text: string, line: unknown): string[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  return lines.map((whole, index) => (index + 1 === line ? (/\r?\n$/.exec(whole)?.[0] ?? '') : whole))
}
