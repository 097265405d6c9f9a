import { describe, expect, it } from 'vitest'
import { type Line, readLines } from './index.ts'

async function linesOf(chunks: (string | Buffer)[], maxBytes = 10): Promise<Line[]> {
  const input = async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  return collect(readLines(input(), { maxBytes }))
}

async function collect(lines: AsyncIterable<Line>): Promise<Line[]> {
  const all: Line[] = []
  for await (const line of lines) all.push(line)
  return all
}

describe('lines of a stream', () => {
  it.each([
    { chunks: ['a\nb\n'], lines: ['a', 'b'] },
    { chunks: ['a', 'b\nc', 'd\n'], lines: ['ab', 'cd'] },
    { chunks: ['a\n\nb'], lines: ['a', '', 'b'] },
    { chunks: [Buffer.from('ü\n').subarray(0, 1), Buffer.from('ü\n').subarray(1)], lines: ['ü'] },
    { chunks: [], lines: [] },
    { chunks: ['1234567890\n'], lines: ['1234567890'] },
  ])('are $lines', async ({ chunks, lines }) => {
    expect(await linesOf(chunks)).toEqual(lines.map(text => ({ text })))
  })

  it('show both ends of what is too long, and go on behind it', async () => {
    const long = `${'a'.repeat(600)}${'b'.repeat(600)}`
    expect(await linesOf([long.slice(0, 700), long.slice(700), 'c\nok\n'])).toEqual([
      { tooLong: { head: 'a'.repeat(512), tail: `${'b'.repeat(511)}c`, bytes: 1_201 } },
      { text: 'ok' },
    ])
  })
})
