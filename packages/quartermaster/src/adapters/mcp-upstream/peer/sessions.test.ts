import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Answer, Question } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { freshFolder } from '../../../testing/store-contract/stage.ts'
import { createProcessManager } from '../../programs/process-manager.ts'
import { createSystemClock } from '../../system/index.ts'
import { NO_EVENTS } from '../testing/bare-session.ts'
import { createChildLog } from '../transport/child-log.ts'
import { openHttpChannel } from '../transport/http-channel.ts'
import { openStdioChannel } from '../transport/stdio-channel.ts'
import type { OpenChannel } from './channel.ts'
import { openSession } from './open-session.ts'
import type { AskOptions, Era, Session, SessionEvents } from './session.ts'

const clock = createSystemClock()
const SDK_SERVER = fileURLToPath(new URL('../testing/sdk-server.mjs', import.meta.url))
const ILL_SERVER = fileURLToPath(new URL('../testing/ill-server.mjs', import.meta.url))
const FOREVER = new AbortController().signal

async function overStdio(server: string, ...args: string[]): Promise<OpenChannel> {
  const dataDir = await freshFolder()
  const processManager = createProcessManager({ clock, dataDir })
  onTestFinished(() => processManager.close())
  const program = { command: process.execPath, args: [server, ...args], env: {}, cwd: dataDir }
  return openStdioChannel({ ...program, clock, processes: processManager, log: createChildLog({ clock }) })
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
  readonly ownerTimeoutMs?: number
  readonly log?: AskOptions['requester']['log']
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
  const { onProgress, ownerTimeoutMs } = from
  return session.ask(
    'tools/call',
    { name, arguments: args },
    { signal, onProgress, ownerTimeoutMs: ownerTimeoutMs, requester: { caller, canAnswer, ask, log } },
  )
}

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
})
