import { UnauthorizedError } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createLine } from './connection.ts'

it('hears nothing while its token is refused, and of changes again once it is taken', async () => {
  const clock = createFakeClock()
  const told: string[] = []
  let isTaken = true
  const client = {
    setNotificationHandler: () => {},
    async listen() {
      told.push(isTaken ? 'opened' : 'refused')
      if (!isTaken) throw new UnauthorizedError()
      return { closed: new Promise<void>(resolve => void clock.after(2_000, resolve)) }
    },
  }
  const { reached, stop } = createLine({
    client: client as never,
    address: new URL('http://127.0.0.1:7420/mcp'),
    following: { clock, random: () => 0.5 },
    list: { changed: () => void told.push('changed'), lookAgain: async () => {} },
  })
  await clock.advance(1_000)
  isTaken = false
  await clock.advance(60_000)
  expect(told).toEqual(['opened', 'refused', 'changed'])
  await expect(reached(() => Promise.reject(new UnauthorizedError()))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  isTaken = true
  await reached(async () => {})
  await clock.advance(1_000)
  expect(told).toEqual(['opened', 'refused', 'changed', 'opened'])
  stop()
})
