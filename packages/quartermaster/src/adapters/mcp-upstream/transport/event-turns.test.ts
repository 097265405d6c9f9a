import { expect, it } from 'vitest'
import type { HttpBody } from '../../http-client/index.ts'
import { createEventTurns } from './event-stream.ts'

/** A body that a test speaks for. */
function spokenFor() {
  let pauses = 0
  let reader: Parameters<HttpBody['read']>[0] | undefined
  const body: HttpBody = {
    read: given => void (reader = given),
    pause: () => void pauses++,
    resume() {},
    destroy() {},
  }
  return {
    body,
    pauses: () => pauses,
    say: (text: string) => reader?.onData(Buffer.from(text)),
    end: () => reader?.onEnd(),
  }
}

it('holds back a server that sends nothing but comments, and hands over what comes behind them before the end', async () => {
  const { body, pauses, say, end } = spokenFor()
  const events: string[] = []
  const reading = createEventTurns().read(body, {
    maxBytes: 1_000_000,
    onEvent: ({ data }) => void events.push(data),
    onRetry() {},
  })
  for (let i = 0; i < 300; i++) say(': x\n\n')
  expect(pauses()).toBeGreaterThan(0)
  say(`data: ${'a'.repeat(40_000)}\n\ndata: b\n\n`)
  end()
  expect(await reading).toMatchObject({ kind: 'ended' })
  expect(events.map(({ length }) => length)).toEqual([40_000, 1])
})
