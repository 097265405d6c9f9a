import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import type { Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { oauthPlace } from './testing/oauth-fixture.ts'
import { SIGNAL, stage } from './testing/upstreams-fixture.ts'

const QUESTION = { jsonrpc: '2.0', id: 'q', method: 'elicitation/create' }
const ASKED = { message: 'Which one?', requestedSchema: { type: 'object', properties: {} } }

/** A server that keeps to itself whose each session is, and asks a person in the course of each call. */
async function askingServer() {
  const owners = new Map<string, string>()
  const calls: Visit[] = []
  const intruders: string[] = []
  const place = await oauthPlace({ takes: token => token.startsWith('access-'), serve })

  function serve(visit: Visit): void {
    const { headers, body, method } = visit
    const who = String(headers.authorization)
    if (body.method === 'initialize') {
      owners.set(`${owners.size}`, who)
      return void answerLegacy({
        ...visit,
        result: result => visit.result(result, { 'mcp-session-id': `${owners.size - 1}` }),
      })
    }
    if (owners.get(String(headers['mcp-session-id'])) !== who) {
      intruders.push(`${who}: ${method} ${visit.text}`)
      return visit.json(403)
    }
    if (body.method === 'tools/call') {
      calls.push(visit)
      return visit.events()(`data: ${JSON.stringify({ ...QUESTION, params: ASKED })}\n\n`)
    }
    if (body.id === 'q' && !('method' in body)) {
      visit.json(202)
      const [call] = calls
      const result = { content: [{ type: 'text', text: 'done' }] }
      call?.response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: call.body.id, result })}\n\n`)
      return
    }
    answerLegacy(visit, { 'tools/list': () => ({ tools: [{ name: 'close', inputSchema: { type: 'object' } }] }) })
  }

  return { place, calls, intruders }
}

/** A call in the course of which a person is being asked, of an upstream at which somebody has signed in. */
async function asking(agent?: string) {
  const { place, calls, intruders } = await askingServer()
  const desk = await stage()
  const signIn = async (agent?: string) => {
    const attempt = await desk.auth.begin({ upstream: 'tracker', agent }, place.upstream)
    await attempt.take(place.approve(attempt.url))
    await desk.upstreams.loginChanged({ upstream: 'tracker', agent })
  }
  const connection = agent === undefined ? 'shared' : 'perAgent'
  await desk.configure({
    tracker: UpstreamConfig.parse({ url: place.upstream.url, era: 'legacy', newTools: 'offer', connection }),
  })
  await signIn()
  await desk.isUp('tracker')
  const [unit] = await desk.units()
  const [tool] = unit?.definitions.capabilities?.[0]?.tools ?? []
  const [asked, answer] = [deferred(), deferred<object>()]
  const context = {
    caller: { name: agent ?? 'ada' },
    client: 'one',
    signal: SIGNAL,
    canAnswer: () => true,
    progress() {},
    ask() {
      asked.resolve()
      return answer.promise
    },
  }
  const call = Promise.resolve(tool?.handler({} as never, context as never))
  call.catch(() => {})
  await asked.promise
  return {
    ...desk,
    place,
    calls,
    intruders,
    signIn,
    call,
    answer: () => answer.resolve({ action: 'accept', content: {} }),
  }
}

describe('a call in the course of which a person is asked', () => {
  it.each([
    ['somebody else signs in', undefined],
    ['its agent signs in itself', 'ada'],
  ])('is answered in the name that it was begun in when %s meanwhile', async (_, agent) => {
    const { signIn, call, answer, intruders, isUp } = await asking(agent)
    await signIn(agent)
    await isUp('tracker')
    answer()
    expect(await call).toMatchObject({ content: [{ text: 'done' }] })
    expect(intruders).toEqual([])
  })

  it('is not answered any more once whoever it was begun by has signed out, and nobody knows how it ended', async () => {
    const { auth, upstreams, place, call, answer, status } = await asking()
    await auth.forget({ upstream: 'tracker' })
    const before = place.endpoint.visits.length
    await upstreams.loginChanged({ upstream: 'tracker' })
    answer()
    await expect(call).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('The login at "tracker" was forgotten meanwhile'),
    })
    await expect.poll(() => status('tracker')?.state).toBe('needsLogin')
    const since = place.endpoint.visits.slice(before)
    expect(since.filter(({ headers }) => headers['mcp-session-id'] !== undefined)).toEqual([])
  })
})
