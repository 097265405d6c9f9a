import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { deferred } from '../../../testing/deferred.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { freshFolder } from '../../../testing/store-contract/stage.ts'
import type { Message } from '../../mcp-wire/index.ts'
import { createProcessManager } from '../../programs/process-manager.ts'
import { createSystemClock } from '../../system/index.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { createChildLog } from '../transport/child-log.ts'
import { openHttpChannel } from '../transport/http-channel.ts'
import { openStdioChannel } from '../transport/stdio-channel.ts'
import type { OpenChannel } from './channel.ts'
import { fetchListing } from './fetch-listing.ts'
import { openSession } from './open-session.ts'
import type { AskOptions, Era, Session, SessionEvents } from './session.ts'

const clock = createSystemClock()
const SDK_SERVER = fileURLToPath(new URL('../testing/sdk-server.mjs', import.meta.url))
const ILL_SERVER = fileURLToPath(new URL('../testing/ill-server.mjs', import.meta.url))
const FOREVER = new AbortController().signal

async function overStdio(server: string, ...args: string[]): Promise<OpenChannel> {
  const dataDir = await freshFolder()
  const herd = createProcessManager({ clock, dataDir })
  onTestFinished(() => herd.close())
  const program = { command: process.execPath, args: [server, ...args], env: {}, cwd: dataDir }
  return openStdioChannel({ ...program, clock, processes: herd, log: createChildLog({ clock }) })
}

async function overHttp(...args: string[]): Promise<OpenChannel> {
  const program = spawn(process.execPath, [SDK_SERVER, '--http', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void program.kill())
  const [url] = (await once(createInterface(program.stdout), 'line')) as [string]
  return openHttpChannel({ name: 'desk', url, headers: {}, clock, log() {} })
}

interface Meeting {
  readonly open: OpenChannel
  readonly era: Era | 'auto'
  readonly isRemembered?: boolean
  readonly events?: Partial<SessionEvents>
  readonly clock?: Clock
}

async function meet({ open, era, isRemembered = false, events, clock: other = clock }: Meeting): Promise<Session> {
  const session = await openSession(
    {
      open,
      era,
      isRemembered,
      clock: other,
      client: { name: 'test', version: '1' },
      events: { ...NO_EVENTS, ...events },
    },
    AbortSignal.timeout(10_000),
  )
  onTestFinished(() => session.close())
  return session
}

interface Caller {
  readonly caller?: string
  readonly signal?: AbortSignal
  readonly onProgress?: AskOptions['onProgress']
  readonly givenMs?: number
  readonly log?: AskOptions['behind']['log']
  ask?(question: Question): Promise<Answer>
}

function call(session: Session, name: string, args: object = {}, from: Caller = {}) {
  const {
    caller = 'worker',
    signal = FOREVER,
    ask = async () => ({ action: 'decline' as const }),
    log = () => {},
  } = from
  const canAnswer = { form: true, url: true, model: true, roots: true }
  const { onProgress, givenMs } = from
  return session.ask(
    'tools/call',
    { name, arguments: args },
    { signal, onProgress, givenMs, behind: { caller, canAnswer, ask, log } },
  )
}

const WAYS = [
  ['stdio', 'legacy'],
  ['stdio', 'modern'],
  ['http', 'legacy'],
  ['http', 'modern'],
] as const

describe.each(WAYS)('a server over %s of the era %s', (transport, era) => {
  const open = (events?: Partial<SessionEvents>, ...args: string[]) =>
    (transport === 'stdio' ? overStdio(SDK_SERVER, ...args) : overHttp(...args)).then(way =>
      meet({ open: way, era, ...(events ? { events } : {}) }),
    )

  it('says what it is and what it has', async () => {
    const session = await open()
    expect(session.facts).toMatchObject({
      era,
      server: { name: 'sdk-server', version: '1.2.3' },
      instructions: 'Ask at the desk.',
    })
    const listing = await fetchListing(session, FOREVER)
    expect(listing.tools).toContainEqual(expect.objectContaining({ name: 'echo', description: 'Says the same.' }))
    expect(listing).toMatchObject({
      prompts: [{ name: 'greet' }],
      resources: [{ uri: 'desk://a' }],
      templates: [{ uriTemplate: 'desk://files/{+path}' }],
    })
  })

  it('answers a call as it is, with everything in it', async () => {
    const session = await open()
    expect(await call(session, 'add', { a: 1, b: 2 })).toMatchObject({
      content: [{ type: 'text', text: '3' }],
      structuredContent: { sum: 3 },
      _meta: { 'desk/sum': 3 },
    })
    expect(await call(session, 'no')).toMatchObject({ isError: true })
    await expect(call(session, 'breaks')).rejects.toThrow('It broke.')
  })

  it('knows the longest time that was given to what is under way', async () => {
    const session = await open()
    const calls = [{ givenMs: 5_000 }, { givenMs: 60_000 }, {}].map(given => call(session, 'slow', {}, given))
    expect(session.givenMs()).toBe(60_000)
    await Promise.all(calls)
    expect(session.givenMs()).toBe(0)
  })

  it('tells how far it is, and what it writes to its log', async () => {
    const session = await open()
    const progress: unknown[] = []
    await call(session, 'slow', {}, { onProgress: update => progress.push(update) })
    expect(progress).toEqual([
      { progress: 1, total: 2, message: 'step 1' },
      { progress: 2, total: 2, message: 'step 2' },
    ])
    const lines: string[] = []
    await call(session, 'speak', {}, { log: (_level, line) => lines.push(line) })
    expect(lines).toEqual(['a word from the server'])
  })

  it('asks whoever is behind the call, and goes on with the answer', async () => {
    const session = await open()
    const asked: Question[] = []
    const ask = async (question: Question): Promise<Answer> => {
      asked.push(question)
      if (question.kind === 'roots') return { action: 'accept', content: { roots: [{ uri: 'file:///w' }] } }
      if (question.kind !== 'model') return { action: 'accept', content: { name: 'Ada' } }
      return { action: 'accept', content: { role: 'assistant', content: { type: 'text', text: 'Ho' }, model: 'm' } }
    }
    const answerOf = async (name: string) => JSON.stringify(await call(session, name, {}, { ask }))
    expect(await answerOf('ask')).toContain('Ada')
    expect(await answerOf('folders')).toContain('file:///w')
    expect(await answerOf('sample')).toContain('Ho')
    expect(asked).toMatchObject([{ message: 'What is your name?' }, { kind: 'roots' }, { kind: 'model', maxTokens: 5 }])
  })

  it('is told when nobody waits for a call any more', async () => {
    const log = `${await freshFolder()}/log`
    const session = await open(undefined, `--log=${log}`)
    const controller = new AbortController()
    const waiting = call(session, 'wait', {}, { signal: controller.signal })
    const { readFile } = await import('node:fs/promises')
    const lines = () => readFile(log, 'utf8').catch(() => '')
    await expect.poll(lines).toContain('wait')
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect.poll(lines).toContain('cancelled')
  })

  it('tells of changes', async () => {
    const changes: string[] = []
    const session = await open({
      onListChanged: kind => changes.push(kind),
      onResourceUpdated: uri => changes.push(uri),
    })
    session.watch(new Set(['desk://a']))
    // ModernSubscriptions begins a moment after asking for it.
    await expect.poll(() => call(session, 'grow', { name: 'more' }).then(() => changes)).toContain('tools')
    await expect.poll(() => call(session, 'touch').then(() => changes)).toContain('desk://a')
  })

  it('reads, fills in and completes', async () => {
    const session = await open()
    const options: AskOptions = {
      signal: FOREVER,
      behind: {
        caller: 'worker',
        canAnswer: { form: false, url: false, model: false, roots: false },
        ask: async () => ({ action: 'decline' }),
        log() {},
      },
    }
    expect(await session.ask('resources/read', { uri: 'desk://files/a/b' }, options)).toMatchObject({
      contents: [{ uri: 'desk://files/a/b', text: 'read desk://files/a/b', _meta: { 'desk/read': true } }],
    })
    expect(await session.ask('prompts/get', { name: 'greet', arguments: { who: 'Ada' } }, options)).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Greet Ada.' } }],
    })
    const params = { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'A' } }
    expect(await session.ask('completion/complete', params, options)).toMatchObject({
      completion: { values: ['Ada', 'Alan'] },
    })
    await session.ping(FOREVER)
  })
})

describe('a server whose era nobody knows', () => {
  it.each(['stdio', 'http'] as const)('is met in the newer one over %s, if it speaks it', async transport => {
    const open = transport === 'stdio' ? await overStdio(SDK_SERVER) : await overHttp()
    expect((await meet({ open, era: 'auto' })).facts.era).toBe('modern')
  })

  it.each([
    ['says that it does not know', []],
    ['ends when it is asked what it does not know', ['--dies-on-unknown']],
    ['prints a banner first', ['--banner=3']],
  ])('is met in the older one, if it %s', async (_, flags) => {
    const session = await meet({ open: await overStdio(ILL_SERVER, ...flags), era: 'auto' })
    expect(session.facts).toMatchObject({ era: 'legacy', version: '2025-11-25' })
    expect(await call(session, 'echo', { text: 'hi' })).toMatchObject({ content: [{ text: 'hi' }] })
  })

  it.each([
    ['and it keeps silent', 'auto', '--silent-on-unknown'],
    ['and it keeps silent, though it was of the newer one before', 'modern', '--silent-on-unknown'],
    ['and asked once, if it is only slow to start', 'auto', '--late=500'],
  ] as const)('is met in the older one after a while, %s', async (_, era, flag) => {
    const open = await overStdio(ILL_SERVER, flag)
    const asked: string[] = []
    const counted: OpenChannel = async (events, signal) => {
      const channel = await open(events, signal)
      const send: typeof channel.send = (message, options) => {
        if ('method' in message) asked.push(message.method)
        return channel.send(message, options)
      }
      return { ...channel, send }
    }
    const fake = createFakeClock()
    const meeting = meet({ open: counted, era, isRemembered: era === 'modern', clock: fake })
    await expect.poll(() => asked).toEqual(['server/discover'])
    await fake.advance(5_001)
    expect((await meeting).facts.era).toBe('legacy')
    expect(asked.filter(method => method === 'initialize')).toHaveLength(1)
  })

  it.each(['auto', 'modern'] as const)(
    'is met in the newer one, if it is slow and refuses the other (%s)',
    async era => {
      const asked: Message[] = []
      let tell: (message: Message) => void = () => {}
      const open: OpenChannel = async ({ onMessage }) => {
        tell = message => onMessage(message, undefined)
        return {
          hasExchanges: false,
          pids: () => [],
          send: async message => void asked.push(message),
          async close() {},
        }
      }
      const fake = createFakeClock()
      const meeting = meet({ open, era, isRemembered: era === 'modern', clock: fake })
      await expect.poll(() => asked).toMatchObject([{ method: 'server/discover' }])
      await fake.advance(5_001)
      const [newer, older] = asked.map(message => ('id' in message ? message.id : 0))
      const error = { code: -32022, message: 'no', data: { supported: ['2026-07-28'] } }
      tell({ jsonrpc: '2.0', id: older ?? 0, error })
      await fake.advance(2_000)
      tell({ jsonrpc: '2.0', id: newer ?? 0, result: { supportedVersions: ['2026-07-28'], capabilities: {} } })
      expect((await meeting).facts.era).toBe('modern')
    },
  )

  it('is refused, if it speaks none that is known here', async () => {
    const open = await overStdio(ILL_SERVER, '--version=1999-01-01')
    await expect(meet({ open, era: 'auto' })).rejects.toThrow('1999-01-01')
  })
})

describe('a question of an older server', () => {
  it('is declined when several agents use the connection, and that is told', async () => {
    let crowded = 0
    const open = await overStdio(SDK_SERVER)
    const session = await meet({ open, era: 'legacy', events: { onCrowded: () => void crowded++ } })
    const asked = deferred()
    const thought = deferred<Answer>()
    const think = () => (asked.resolve(), thought.promise)
    const other = call(session, 'ask', {}, { caller: 'other', ask: think })
    await asked.promise
    const ask = async (): Promise<Answer> => ({ action: 'accept', content: { name: 'Ada' } })
    expect(JSON.stringify(await call(session, 'ask', {}, { ask }))).toContain('decline')
    expect(crowded).toBe(1)
    thought.resolve({ action: 'decline' })
    await other
    expect(JSON.stringify(await call(session, 'ask', {}, { ask }))).toContain('Ada')
  })
})
