import { describe, expect, it } from 'vitest'
import { isResponse, type Message } from '../../mcp-wire/index.ts'
import { openSilentServer } from '../testing/silent-server.ts'
import { SendFailure, type WasSent } from './channel.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { LONGEST_DELAY_MS } from './questions.ts'
import type { Requester } from './session.ts'

const CAN = { form: true, url: true, model: true, roots: true }
const QUESTION = { message: 'Sure?', requestedSchema: {} }

const failure = (wasSent: WasSent, status?: number, retryAfterMs?: number) =>
  new SendFailure(`The server answered with HTTP ${status}.`, { wasSent, status, retryAfterMs, said: 'Go away.' })

/** A server that asks, and what becomes of each answer that it is sent: it is taken in where nothing is written down. */
async function stage(...fates: (Error | Promise<undefined>)[]) {
  const failing = async (message: Message) => (isResponse(message) ? fates.shift() : undefined)
  const server = await openSilentServer({ failing })
  const call = (caller = 'ada', canAnswer = CAN) => {
    const requester: Requester = { caller, canAnswer, ask: async () => ({ action: 'accept', content: {} }), log() {} }
    const controller = new AbortController()
    const result = server.session.ask('tools/call', { name: 'pay' }, { signal: controller.signal, requester })
    result.catch(() => {})
    const id = server.idsOf('tools/call').at(-1)
    const giveUp = () => controller.abort(new Error('enough'))
    return { id, result, giveUp, finish: () => server.say({ id, result: { content: [] } }) }
  }
  const ask = async (method = 'elicitation/create', params: object = QUESTION, of?: number) => {
    server.say({ id: 'q1', method, params }, of)
    await server.clock.advance(GATHER_MS)
  }
  const askIn = (of: number | undefined) => ask('elicitation/create', QUESTION, of)
  const answers = () => server.sent.filter(isResponse)
  const cancelled = () =>
    server.sent.flatMap(message =>
      'method' in message && message.method === 'notifications/cancelled' ? [message.params?.requestId] : [],
    )
  return { ...server, call, ask, askIn, answers, cancelled }
}

describe('an answer that a server does not take in', () => {
  it.each([failure('refused', 403), failure('no', 429, LONGEST_DELAY_MS + 1)])(
    'ends the call that it was asked for, and says why: %s',
    async why => {
      const desk = await stage(why)
      const { id, result } = desk.call()
      await desk.ask()
      await expect(result).rejects.toMatchObject({
        wasSent: 'maybe',
        isFinal: true,
        status: why.status,
        said: 'Go away.',
        message: `It asked something, and could not be given the answer: ${why.message}`,
      })
      expect(desk.cancelled()).toEqual([id])
      expect(desk.answers()).toHaveLength(1)
    },
  )

  it.each([
    ['its connection broke, and to say it twice is the same as once', failure('maybe')],
    ['the server was busy', failure('no', 503, 500)],
    ['the server did not take it in', failure('no', 408)],
  ])('is delivered again where %s', async (_, why) => {
    const desk = await stage(why)
    const { result, finish } = desk.call()
    await desk.ask()
    await desk.clock.advance(1_000)
    const answer = { jsonrpc: '2.0', id: 'q1', result: { action: 'accept', content: {} } }
    expect(desk.answers()).toEqual([answer, answer])
    finish()
    expect(await result).toEqual({ content: [] })
    expect(desk.cancelled()).toEqual([])
  })
  it('ends no call where it was asked for in the exchange of something else, or of one that is over', async () => {
    const desk = await stage(failure('refused', 403), failure('refused', 403))
    const { signal } = new AbortController()
    const listing = desk.session.page('tools', undefined, signal)
    const over = desk.call()
    over.finish()
    await over.result
    const { result, finish } = desk.call()
    await desk.askIn(desk.idsOf('tools/list')[0])
    await desk.askIn(over.id)
    expect(desk.answers()).toHaveLength(2)
    finish()
    expect(await result).toEqual({ content: [] })
    desk.say({ id: desk.idsOf('tools/list')[0], result: { tools: [] } })
    expect(await listing).toEqual({ tools: [] })
  })
})
