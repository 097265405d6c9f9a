import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Message } from '../../mcp-wire/index.ts'
import {
  createProcessManager,
  type ProcessManager,
  type ProcessManagerOptions,
} from '../../programs/process-manager.ts'
import { createSystemClock } from '../../system/index.ts'
import type { Channel, ChannelEnd } from '../peer/channel.ts'
import { type ChildLog, createChildLog } from '../transport/child-log.ts'
import { openStdioChannel, type StdioChannelOptions } from '../transport/stdio-channel.ts'

/** Says its number and that of one that it has started without any mark, and outlives its parent. */
export const APART = `QUARTERMASTER_UPSTREAM=none setsid sh -c 'echo $$; env -i sleep 1000 & echo $!; wait'`

/** A server that can be as ill-behaved as a test needs; its flags are listed at its top. */
export const ILL_SERVER = fileURLToPath(new URL('ill-server.mjs', import.meta.url))

/** Short times, so that tests need not wait for what they know will be ignored. */
const QUICK_STOP = { graceMs: 100, termMs: 100 }

/** A real folder that is gone after the test. */
export async function tempFolder(): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'children-')))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

interface ProcessManagerFixture {
  readonly processManager: ProcessManager
  readonly dataDir: string
}

/** A process manager over a folder of its own. Its children end with the test. */
export async function processManagerFixture(
  options: Partial<ProcessManagerOptions> = {},
): Promise<ProcessManagerFixture> {
  const dataDir = await tempFolder()
  const processManager = createProcessManager({ clock: createSystemClock(), dataDir, ...options })
  onTestFinished(() => processManager.close())
  return { processManager, dataDir }
}

/** A channel, and everything that came out of it. */
interface OpenedChannel {
  readonly channel: Channel
  readonly log: ChildLog
  readonly messages: Message[]
  /** How often more of a long message came. */
  parts(): number
  readonly ends: ChannelEnd[]
  /** Resolves with the first message like this, also one that has come already. */
  heard(isWanted: (message: Message) => boolean): Promise<Message>
  readonly ended: Promise<ChannelEnd>
  /** Sends a request and waits for its answer. */
  ask(method: string, params?: Record<string, unknown>): Promise<Message>
}

export interface ChannelFixtureOptions extends Partial<Omit<StdioChannelOptions, 'processes'>> {
  readonly processManager?: ProcessManager
  /** Of the ill-behaved server. */
  readonly flags?: readonly string[]
  readonly secrets?: readonly string[]
}

/** Opens a channel to the ill-behaved server, or to another program. */
export async function openChannel({
  flags = [],
  secrets = [],
  ...options
}: ChannelFixtureOptions = {}): Promise<OpenedChannel> {
  const clock = createSystemClock()
  const processManager = options.processManager ?? (await processManagerFixture()).processManager
  const log = options.log ?? createChildLog({ clock, secrets })
  const messages: Message[] = []
  const ends: ChannelEnd[] = []
  const listeners = new Set<(message: Message) => void>()
  let parts = 0
  let tellEnd: (end: ChannelEnd) => void = () => {}
  const ended = new Promise<ChannelEnd>(resolve => {
    tellEnd = resolve
  })
  const open = openStdioChannel({
    command: process.execPath,
    args: [ILL_SERVER, ...flags],
    env: {},
    cwd: tmpdir(),
    stop: QUICK_STOP,
    clock,
    ...options,
    processes: processManager,
    log,
  })
  const channel = await open(
    {
      onMessage(message) {
        messages.push(message)
        for (const listener of [...listeners]) listener(message)
      },
      onPart() {
        parts++
      },
      onEnd(end) {
        ends.push(end)
        tellEnd(end)
      },
    },
    new AbortController().signal,
  )
  onTestFinished(() => channel.close())
  let nextId = 1

  function heard(isWanted: (message: Message) => boolean): Promise<Message> {
    const known = messages.find(isWanted)
    if (known) return Promise.resolve(known)
    return new Promise(resolve => {
      const listener = (message: Message) => {
        if (!isWanted(message)) return
        listeners.delete(listener)
        resolve(message)
      }
      listeners.add(listener)
    })
  }

  return {
    channel,
    log,
    messages,
    parts: () => parts,
    ends,
    heard,
    ended,
    async ask(method, params = {}) {
      const id = nextId++
      await channel.send({ jsonrpc: '2.0', id, method, params })
      return heard(message => 'id' in message && message.id === id && !('method' in message))
    },
  }
}

/** Calls a tool and answers its text. */
export async function callTool(
  channel: OpenedChannel,
  name: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const answer = await channel.ask('tools/call', { name, arguments: input })
  const result = 'result' in answer ? (answer.result as { content: { text: string }[] }) : undefined
  return result?.content[0]?.text ?? ''
}

export async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
    // One that was killed stays in the table until its parent has noticed.
    return !/\) [ZX] /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
  } catch {
    return false
  }
}

/** Looks until it is so. There is no event for the end of a process that is not our child. */
export async function eventually(isSo: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + 15_000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('It has not come to this within 15 seconds.')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** Whether all of these have ended, as soon as they have. */
export async function allGone(pids: readonly number[]): Promise<true> {
  await eventually(async () => (await Promise.all(pids.map(isAlive))).every(alive => !alive))
  return true
}

/** The numbers in a file, a line each. */
export async function pidsIn(file: string): Promise<number[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

/** What stands in the log of a channel. */
export function textsOf({ log }: { readonly log: Pick<ChildLog, 'lines'> }): string[] {
  return log.lines({ limit: 1_000 }).map(line => line.text)
}
