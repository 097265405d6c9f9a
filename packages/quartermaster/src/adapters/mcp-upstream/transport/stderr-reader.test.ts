import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createChildLog } from './child-log.ts'
import { MOST_BYTES_A_SECOND, readStderr } from './stderr-reader.ts'

const SECRET = 'sk-live-4f9A7c2E8b1D6e3F0a5C9d2B7e4A1f8C3d6E'

/** A program that says more than its log takes. */
async function flooding() {
  const clock = createFakeClock()
  const stream = new PassThrough()
  const log = createChildLog({ clock, secrets: [SECRET] })
  const reader = readStderr(stream, { log, clock })
  async function write(text: string) {
    const read = once(stream, 'data')
    stream.write(text)
    await read
  }
  await write('debug line\n'.repeat(300))
  return { write, lastWords: () => log.redact(reader.lastWords() ?? ''), log, clock }
}

it('knows a secret in the last words of a flood that come in two pieces', async () => {
  const { write, lastWords } = await flooding()
  await write(`Error: refused: ${SECRET.slice(0, 20)}`)
  await write(`${SECRET.slice(20)}, says the server\n`)
  expect(lastWords()).toBe('Error: refused: [secret], says the server')
})

it('shows of a piece of a flood whole lines alone, the last one at least', async () => {
  const { write, lastWords } = await flooding()
  const behind = `${SECRET.slice(20)} is denied\n`
  await write(`skipped\ntoken ${SECRET.slice(0, 20)}${behind}${'.'.repeat(2_047 - behind.length)}\n`)
  expect(lastWords()).toBe('skipped')
  await write(`skipped\nError: ${'y'.repeat(2_000)} ${SECRET} ${SECRET} ${'y'.repeat(3_000)}\n`)
  expect(lastWords()).toMatch(/^Error: y{2000} \[secret\] ?$/)
})

it('takes no line for a new one whose beginning was lost in a flood', async () => {
  const { write, log, clock } = await flooding()
  for (const piece of ['token ', SECRET.slice(0, 20)]) await write(piece)
  await clock.advance(1_000)
  await write(`${SECRET.slice(20)} at last\n`)
  expect(log.lines({ limit: 1 })).toMatchObject([{ text: 'token [secret] at last' }])
})

it('reads no more than so much in a second, and goes on in the next', async () => {
  const clock = createFakeClock()
  const stream = new PassThrough()
  const reader = readStderr(stream, { log: createChildLog({ clock }), clock })
  const half = Buffer.alloc(MOST_BYTES_A_SECOND / 2, '.')
  const paused = once(stream, 'pause')
  for (const piece of [half, half]) stream.write(piece)
  await clock.advance(0)
  expect(stream.isPaused()).toBe(false)
  stream.write('\none too many\n')
  await paused
  stream.end('at last\n')
  expect(reader.lastWords()).not.toBe('at last')
  await clock.advance(1_000)
  await reader.ended
  expect(reader.lastWords()).toBe('at last')
})
