import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createChildLog } from './child-log.ts'
import { MOST_BYTES_A_SECOND, readStderr } from './stderr-reader.ts'

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
