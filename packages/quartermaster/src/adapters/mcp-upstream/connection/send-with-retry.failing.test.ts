import { expect, it } from 'vitest'
import { AppError } from '../../../contracts/index.ts'
import { RpcError, SendFailure, UnreadableAnswer } from '../peer/channel.ts'
import { stage } from '../testing/retry-fixture.ts'

const what = 'the tool "t"'
const http = (status: number, facts: { wasSent: 'no' | 'refused' | 'maybe'; retryAfterMs?: number }) =>
  new SendFailure(`HTTP ${status}.`, { status, ...facts })

it.each([
  ['an error of its own', http(500, { wasSent: 'maybe' }), { kind: 'broken', reason: 'HTTP 500.' }],
  ['that it came too late', http(408, { wasSent: 'no' }), { kind: 'broken', reason: 'HTTP 408.' }],
  ['nothing', new SendFailure('It broke.', { wasSent: 'maybe' }), { kind: 'broken', reason: 'It broke.' }],
  ['that it is busy', http(429, { wasSent: 'no', retryAfterMs: 60_000 }), { kind: 'busy', reason: 'HTTP 429.' }],
  [
    'what nobody can read',
    new UnreadableAnswer('It is no result.'),
    { kind: 'unreadable', reason: 'Its answer is not taken. It is no result.' },
  ],
])('has it noted once that a request has failed whose server answered with %s', async (_, failure, noted) => {
  for (const mayRepeat of [true, false]) {
    const { send, seen } = stage(failure)
    await expect(send({ mayRepeat })).rejects.toMatchObject({ code: expect.any(String) })
    expect(seen.failures).toEqual([expect.objectContaining({ what, ...noted })])
  }
})

it.each([
  ['an error in the protocol', new RpcError({ code: -32_603, message: 'No disk' })],
  ['that its arguments are wrong', http(400, { wasSent: 'refused' })],
  ['that it is not let in', http(403, { wasSent: 'refused' })],
])('notes no failure of the server where it answers %s', async (_, answer) => {
  const { send, seen } = stage(answer)
  await expect(send({ isCall: true })).rejects.toMatchObject({ code: 'UPSTREAM_ERROR' })
  expect(seen.failures).toEqual([])
})
it.each([
  ['DEADLINE_EXCEEDED', [expect.objectContaining({ what, kind: 'broken', reason: 'HTTP 503.' })]],
  ['CANCELLED', []],
] as const)('has a request noted whose time is over before it is sent again: %s', async (code, failures) => {
  const { send, seen, controller, clock } = stage(http(503, { wasSent: 'maybe', retryAfterMs: 1_000 }))
  const sent = send({ mayRepeat: true })
  await clock.advance(2_500)
  controller.abort(new AppError(code, 'It is over.'))
  await expect(sent).rejects.toMatchObject({ code })
  expect(seen.failures).toEqual(failures)
})
