import { expect, it } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import type { Params } from '../../mcp-wire/index.ts'
import { openSilentServer, type SilentServer } from '../testing/silent-server.ts'
import { GATHER_MS } from './legacy-questions.ts'
import type { Requester, SessionEvents } from './session.ts'

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
  const behindOf = (caller: string, { signals, cannotAnswer, onPause }: Person): Requester => ({
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
    const options = { signal: controller.signal, requester: behindOf(caller, person) }
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
  const desk = await stage({ onAmbiguousQuestion: () => void crowded++ })
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
