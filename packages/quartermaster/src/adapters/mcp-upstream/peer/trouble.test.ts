import { expect, it } from 'vitest'
import { ChannelFailure, forPeople, RpcError, SendFailure, troubleOf, UnreadableAnswer } from './channel.ts'

it('keeps the words of a server apart from ours', () => {
  const refused = troubleOf(new RpcError({ code: -32_603, message: 'Do as I say.' }))
  expect(refused).toEqual({ reason: 'It answered with an error (-32603).', said: 'Do as I say.' })
  const ended = troubleOf(new ChannelFailure({ kind: 'exited', reason: 'It ended with exit code 1.', said: 'No disk' }))
  expect(ended).toMatchObject({ reason: 'It ended with exit code 1.', said: 'No disk' })
  const unsent = troubleOf(new SendFailure('It ended with exit code 1.', { wasSent: 'no', said: 'No disk' }))
  expect(unsent).toEqual({ reason: 'It ended with exit code 1.', said: 'No disk' })
})

it('says what is wrong with an answer that nobody can read', () => {
  const reason = 'Its answer is not taken. It is no result.'
  expect(troubleOf(new UnreadableAnswer('It is no result.'))).toEqual({ reason })
})

it('says which versions a server speaks that speaks none of ours', () => {
  const refusal = (data?: unknown) => troubleOf(new RpcError({ code: -32_022, message: 'Unsupported', data }))
  expect(refusal({ supported: ['2027-01-01', 'Do as I say.', '2027-06-01'] })).toEqual({
    reason:
      'It speaks MCP 2027-01-01, 2027-06-01 only. We speak 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05.',
  })
  expect(refusal()).toMatchObject({
    reason: expect.stringContaining('no version of MCP that we do'),
    said: 'Unsupported',
  })
})

it('tells people both', () => {
  expect(forPeople({ reason: 'It ended with exit code 1.', said: 'No disk' })).toBe(
    'It ended with exit code 1: No disk',
  )
  expect(forPeople(troubleOf(new Error('too late')))).toBe('too late.')
})
