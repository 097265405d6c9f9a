import { expect, it } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { openSilentServer, type SilentServer } from '../testing/silent-server.ts'
import { GATHER_MS } from './legacy-questions.ts'
import { MOST_ASKED } from './peer.ts'
import { CANCELLED_WORK_MS, MOST_CANCELLED } from './request-attribution.ts'
import type { Behind, SessionEvents } from './session.ts'

const EVERYTHING = { form: true, url: true, model: true, roots: true }
const NOTHING = { form: false, url: false, model: false, roots: false }
const TAKEN = { action: 'accept', content: {} } as const

interface Person {
  readonly cannotAnswer?: true
  /** Never answers, and remembers in these whether it was still asked. */
  readonly signals?: AbortSignal[]
  /** Told when the time of the call stands still, and when it goes on. */
  readonly onPause?: (isPaused: boolean) => void
}

/** A server, and callers of whom it is known what they were asked and told. */
async function stage(events: Partial<SessionEvents> = {}) {
  const server = await openSilentServer({ events })
  const heard: string[] = []
  const behindOf = (caller: string, { signals, cannotAnswer, onPause }: Person): Behind => ({
    caller,
    canAnswer: cannotAnswer ? NOTHING : EVERYTHING,
    ask(question: Question, signal): Promise<Answer> {
      heard.push(`${caller} is asked: ${'message' in question ? question.message : question.kind}`)
      if (!signals) return Promise.resolve(TAKEN)
      if (signal) signals.push(signal)
      return new Promise(() => {})
    },
    pauseRun() {
      onPause?.(true)
      return () => onPause?.(false)
    },
    log: (_level, text) => void heard.push(`${caller} is told: ${text}`),
  })
  const call = (caller: string, person: Person = {}) => {
    const controller = new AbortController()
    const options = { signal: controller.signal, behind: behindOf(caller, person) }
    const result = server.session.ask('tools/call', { name: 'pay' }, options)
    result.catch(() => {})
    const id = server.idsOf('tools/call').at(-1)
    const giveUp = async () => {
      controller.abort(new Error('enough'))
      await result.catch(() => {})
    }
    const end = (part: Params) => server.say({ id, ...part })
    return { id, result, giveUp, end, finish: () => end({ result: { content: [] } }) }
  }
  return { ...server, heard, call }
}

function ask({ say }: Pick<SilentServer, 'say'>, id: string, message = 'Sure?'): void {
  say({ id, method: 'elicitation/create', params: { message, requestedSchema: { type: 'object', properties: {} } } })
}

const answersIn = ({ sent }: SilentServer) => sent.filter(message => 'result' in message || 'error' in message)

it('closes a question when the call is over that it was asked for, and tells the server so', async () => {
  const desk = await stage()
  const signals: AbortSignal[] = []
  const { result, finish } = desk.call('ada', { signals })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  finish()
  await result
  await desk.clock.advance(0)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: { action: 'cancel' } }])
})

it('stops the time of every call of the one who is asked, also of those that come meanwhile, and of no other one', async () => {
  const desk = await stage()
  const paused = new Set<string>()
  const onPause = (name: string) => (isPaused: boolean) => void (isPaused ? paused.add(name) : paused.delete(name))
  desk.call('ada', { onPause: onPause('first') })
  const second = desk.call('ada', { onPause: onPause('second'), signals: [] })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  desk.call('ada', { onPause: onPause('third') })
  desk.call('ben', { onPause: onPause('other') })
  expect(paused).toEqual(new Set(['first', 'second', 'third']))
  // The first is asked in its place.
  second.finish()
  await second.result
  await desk.clock.advance(GATHER_MS)
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: TAKEN }])
  expect([...paused]).toEqual([])
  desk.call('ada', { onPause: onPause('late') })
  expect([...paused]).toEqual([])
})

it('asks nobody for a call that is over already', async () => {
  const desk = await stage()
  const { result, finish } = desk.call('ada')
  ask(desk, 'q1')
  finish()
  await result
  // There is nothing to wait for.
  await desk.clock.advance(0)
  expect(desk.heard).toEqual([])
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: { action: 'cancel' } }])
})

it('passes on an honest question right after any number whose calls have ended', async () => {
  const desk = await stage()
  for (let round = 0; round <= MOST_ASKED; round++) {
    const { result, finish } = desk.call('ada')
    ask(desk, `q${round}`)
    finish()
    await result
    await desk.clock.advance(0)
  }
  desk.call('ada')
  ask(desk, 'honest')
  await desk.clock.advance(GATHER_MS)
  expect(answersIn(desk).at(-1)).toEqual({ jsonrpc: '2.0', id: 'honest', result: TAKEN })
})

it('passes on an honest question after any number that their server did not wait for', async () => {
  const desk = await stage()
  for (let round = 0; round <= MOST_ASKED; round++) {
    const { result, finish } = desk.call('ada', { signals: [] })
    ask(desk, `q${round}`)
    await desk.clock.advance(GATHER_MS)
    finish()
    await result
  }
  desk.call('ada')
  ask(desk, 'honest')
  await desk.clock.advance(GATHER_MS)
  expect(answersIn(desk).at(-1)).toEqual({ jsonrpc: '2.0', id: 'honest', result: TAKEN })
})

it.each([0, 10])('ends the calls of who is asked, and nobody else, when the session is lost %i ms later', async ms => {
  const desk = await stage()
  const asked = [desk.call('ada'), desk.call('ada', { signals: [] })]
  ask(desk, 'q1')
  await desk.clock.advance(ms)
  const other = desk.call('bob')
  desk.end({ kind: 'sessionLost', reason: 'It has forgotten us.' })
  for (const { result } of asked) await expect(result).rejects.toMatchObject({ wasSent: 'maybe' })
  other.finish()
  expect(await other.result).toEqual({ content: [] })
})

const SHUT = { kind: 'sessionLost', reason: 'It has forgotten us.' } as const

it('asks nobody what a server asks that has forgotten us, and ends the calls that may wait for the answer', async () => {
  const desk = await stage()
  const calls = [desk.call('ada'), desk.call('ada')]
  desk.end(SHUT)
  ask(desk, 'q1')
  for (const { result } of calls)
    await expect(result).rejects.toMatchObject({
      wasSent: 'maybe',
      isFinal: true,
      message: 'It asked something, and could not be given the answer: It has forgotten us.',
    })
  await desk.clock.advance(GATHER_MS)
  expect(desk.heard).toEqual([])
  expect(answersIn(desk)).toEqual([])
})

it('ends only the call that a question came for, where that is known, and nobody else’s', async () => {
  const desk = await stage()
  const [asking, other, bobs] = [desk.call('ada'), desk.call('ada'), desk.call('bob')]
  desk.end(SHUT)
  desk.say({ id: 'q1', method: 'elicitation/create', params: { message: 'Sure?' } }, asking.id)
  await expect(asking.result).rejects.toMatchObject({ isFinal: true })
  for (const { finish, result } of [other, bobs]) {
    finish()
    expect(await result).toEqual({ content: [] })
  }
  const cancelled = desk.sent.filter(message => 'method' in message && message.method === 'notifications/cancelled')
  expect(cancelled).toMatchObject([{ params: { requestId: asking.id } }])
})

it('lets a server that has forgotten us finish what it may not have asked about', async () => {
  let crowded = 0
  const desk = await stage({ onCrowded: () => void crowded++ })
  const calls = [desk.call('ada'), desk.call('bob')]
  desk.end(SHUT)
  ask(desk, 'of one of them, and nobody knows of whom')
  calls[0]?.finish()
  expect(await calls[0]?.result).toEqual({ content: [] })
  desk.say({ id: 'p', method: 'ping' })
  desk.say({ id: 'in passing', method: 'roots/list' })
  calls[1]?.finish()
  expect(await calls[1]?.result).toEqual({ content: [] })
  expect([desk.heard, answersIn(desk), crowded]).toEqual([[], [], 0])
})

it('does not count as waiting for an answer once the call is over that it asked for', async () => {
  const desk = await stage()
  const { result, finish } = desk.call('ada', { signals: [] })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  finish()
  await result
  await desk.clock.advance(0)
  const over = desk.clock.now()
  await desk.clock.advance(60_000)
  expect(desk.session.owedAt()).toBe(over)
})

it('asks the same caller by another call when the one is over by which it was asked first', async () => {
  const desk = await stage()
  desk.call('ada')
  const newer = desk.call('ada', { signals: [] })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  newer.finish()
  await newer.result
  await desk.clock.advance(0)
  expect(desk.heard).toEqual(['ada is asked: Sure?', 'ada is asked: Sure?'])
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: TAKEN }])
})

it('declines what the newest call cannot answer, though an older one could and waits', async () => {
  const desk = await stage()
  desk.call('ada', { signals: [] })
  desk.call('ada', { cannotAnswer: true })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: { action: 'decline' } }])
})

it('asks nobody, and tells nobody, what the call of somebody else may be about that was given up', async () => {
  let crowded = 0
  const desk = await stage({ onCrowded: () => void crowded++ })
  const given = desk.call('ada')
  desk.call('bob')
  await given.giveUp()
  desk.say({ method: 'notifications/message', params: { level: 'info', data: 'paid for ada' } })
  ask(desk, 'q1', 'The PIN of ada?')
  await desk.clock.advance(GATHER_MS)
  expect(desk.heard).toEqual([])
  expect(crowded).toBe(1)
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', result: { action: 'decline' } }])
})

it('asks whoever calls once the server has answered what was given up, or has had minutes for it', async () => {
  const desk = await stage()
  const late = desk.call('ada')
  const lost = desk.call('cyd')
  desk.call('bob')
  await late.giveUp()
  await lost.giveUp()
  late.finish()
  await desk.clock.advance(CANCELLED_WORK_MS - 1)
  ask(desk, 'q1')
  await desk.clock.advance(1)
  ask(desk, 'q2')
  await desk.clock.advance(GATHER_MS)
  expect(desk.heard).toEqual(['bob is asked: Sure?'])
})

it('asks a caller who has given up a call by the next one', async () => {
  const desk = await stage()
  await desk.call('ada').giveUp()
  ask(desk, 'q1', 'With nobody there?')
  desk.call('ada')
  ask(desk, 'q2')
  await desk.clock.advance(GATHER_MS)
  expect(desk.heard).toEqual(['ada is asked: Sure?'])
})

it('asks nobody while more have given up than are kept in mind', async () => {
  const desk = await stage()
  const given = Array.from({ length: MOST_CANCELLED + 1 }, (_, number) => desk.call(`caller ${number}`))
  for (const { giveUp } of given) await giveUp()
  for (const { finish } of given.slice(0, MOST_CANCELLED)) finish()
  desk.call('bob')
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  expect(desk.heard).toEqual([])
})

const UNASKED = {
  type: 'text',
  text: expect.stringMatching(
    /another client was under way too, or was cancelled less than 2 minutes before .* no person refused; the next call may get through, once no other client of the same agent /,
  ),
}

it('says in what a call gives that no person refused, where several clients could have been asked', async () => {
  const desk = await stage()
  const visit = desk.call('visitor')
  const people = [{}, {}, {}, { cannotAnswer: true }] as const
  const calls = people.map((person, number) => desk.call(`caller ${number}`, person))
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  const refused = { type: 'text', text: 'The user declined.' }
  const unsaid = { content: [refused] }
  calls[0]?.end({ result: unsaid })
  calls[1]?.end({ error: { code: -32_000, message: 'The user declined.' } })
  calls[2]?.end({ result: { content: [refused], structuredContent: { asked: true } } })
  calls[3]?.end({ result: unsaid })
  visit.end({ error: { code: -32_042, message: 'Sign in first.', data: {} } })
  await expect(visit.result).rejects.toMatchObject({ code: -32_042 })
  expect(await Promise.all(calls.map(({ result }) => result))).toEqual([
    { content: [refused, UNASKED] },
    { content: [refused, UNASKED], isError: true },
    { content: [refused, UNASKED], structuredContent: { asked: true } },
    unsaid,
  ])
})

it('says nothing of it to a call whose own question waits for an answer, nor of folders', async () => {
  const desk = await stage()
  const parked = desk.call('ada', { signals: [] })
  ask(desk, 'q1')
  await desk.clock.advance(GATHER_MS)
  const other = desk.call('bob')
  desk.say({ id: 'q2', method: 'roots/list', params: {} })
  const asking = desk.call('bob')
  await desk.clock.advance(GATHER_MS)
  other.finish()
  expect(await other.result).toEqual({ content: [] })
  ask(desk, 'q3')
  await desk.clock.advance(GATHER_MS)
  asking.finish()
  parked.finish()
  expect(await asking.result).toEqual({ content: [UNASKED] })
  expect(await parked.result).toEqual({ content: [] })
})

it('declines what is asked while nobody has called, or several have, without reading it', async () => {
  const unreadable = { method: 'elicitation/create', params: { message: 7 } }
  const desk = await stage()
  desk.say({ id: 'q1', ...unreadable })
  await desk.clock.advance(GATHER_MS)
  desk.call('ada')
  desk.call('bob')
  desk.say({ id: 'q2', ...unreadable })
  await desk.clock.advance(GATHER_MS)
  const declined = (id: string) => ({ jsonrpc: '2.0', id, result: { action: 'decline' } })
  expect(answersIn(desk)).toEqual([declined('q1'), declined('q2')])
})

it('knows no list that is called like a part of every object', async () => {
  const changed: string[] = []
  const desk = await stage({ onListChanged: kind => void changed.push(kind) })
  for (const method of ['constructor', 'toString', '__proto__', 'notifications/tools/list_changed'])
    desk.say({ method })
  expect(changed).toEqual(['tools'])
})

it.each([
  ['elicitation/create', { message: '', requestedSchema: {} }, 'message'],
  ['elicitation/create', { mode: 'url', message: 'Pay.', url: 'javascript:pay()' }, 'must be an http: or https: URL'],
  ['sampling/createMessage', { messages: [{ role: 'system', content: {} }], maxTokens: 5 }, 'messages.0.role'],
])('is told what is wrong with a question that nobody can be asked: %s %j', async (method, params, wrong) => {
  const desk = await stage()
  desk.call('ada')
  desk.say({ id: 'q1', method, params })
  await desk.clock.advance(GATHER_MS)
  const error = { code: -32_602, message: expect.stringContaining(wrong) }
  expect(answersIn(desk)).toEqual([{ jsonrpc: '2.0', id: 'q1', error }])
  expect(desk.heard).toEqual([])
})
