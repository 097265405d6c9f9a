import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createChildLog } from './child-log.ts'
import { readStderr } from './program-output.ts'

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
  return { write, lastWords: () => log.redact(reader.errorLine() ?? ''), log, clock }
}

it('knows a secret in the last words of a flood that come in two pieces', async () => {
  const { write, lastWords } = await flooding()
  await write(`Error: refused: ${SECRET.slice(0, 20)}`)
  await write(`${SECRET.slice(20)}, says the server\n`)
  expect(lastWords()).toBe('Error: refused: [secret], says the server')
})

it('shows of a piece of a flood whole lines alone, the last one at least', async () => {
  const { write, lastWords } = await flooding()
  const requester = `${SECRET.slice(20)} is denied\n`
  await write(`skipped\ntoken ${SECRET.slice(0, 20)}${requester}${'.'.repeat(2_047 - requester.length)}\n`)
  expect(lastWords()).toBe('skipped')
  await write(`skipped\nError: ${'y'.repeat(2_000)} ${SECRET} ${SECRET} ${'y'.repeat(3_000)}\n`)
  expect(lastWords()).toMatch(/^Error: y{2000} \[secret\] ?$/)
})
