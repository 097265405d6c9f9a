// @ts-check
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { figure, never } from '../lib/figure.mjs'
import { highest, quantile } from '../lib/statistics.mjs'

/** @typedef {import('../lib/figure.mjs').Figure} Figure */
/** @typedef {'look' | 'put' | 'note' | 'keyed'} Kind */
/** @typedef {{ id: string, kind: Kind, ms: number, metKill: boolean, isError: boolean, code: string | undefined, text: string }} Ended */

const BIN = fileURLToPath(new URL('../../packages/quartermaster/dist/bin/quartermaster.js', import.meta.url))

/** Each tool takes a moment, so that some are running at every restart, and says in a file that it ran. */
const TOOLS = `
  import { appendFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { defineCapability, defineTool } from 'quartermaster'
  const done = new URL('../done.txt', import.meta.url)
  const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const tool = (name, more) => defineTool({
    name, short: name + '.', input, ...more,
    async handler({ id }) {
      await pause(15)
      appendFileSync(done, id + '\\n')
      await pause(15)
      return 'done ' + id
    },
  })
  export default defineCapability({
    key: 'work', short: 'Work.',
    tools: [
      tool('look', { mutates: false }),
      tool('put', { idempotent: true, retry: 'replay' }),
      tool('note', { retry: 'manual' }),
    ],
  })
`

/** Half of them change something. Calls of the kind "keyed" are calls of "note" with a key of the client's own. */
const KINDS = /** @type {const} */ (['look', 'note', 'put', 'keyed', 'look', 'note'])
const ERAS = /** @type {const} */ (['auto', 'legacy'])
/** Far longer than the bridge holds a call: its own answer is looked at. */
const CLIENT_TIMEOUT_MS = 180_000
/** Between the end of one process and the start of the next, as a supervisor waits. */
const DOWN_MS = 100

/**
 * An `up` that is restarted again and again while real clients call tools through real bridges.
 * @param {{ calls: number, restarts: number, kills: number, clientsOfEachEra: number, callersOfEach: number }} options
 * @returns {Promise<Figure[]>}
 */
export async function run({ calls, restarts, kills, clientsOfEachEra, callersOfEach }) {
  const dir = await mkdtemp(join(tmpdir(), 'quartermaster-restart-'))
  /** @type {Client[]} */
  const clients = []
  let up
  try {
    await makeProject(dir)
    up = await startUp(dir)
    for (const era of ERAS) for (let i = 0; i < clientsOfEachEra; i++) clients.push(await connectClient(dir, era))
    const load = createLoad(clients, { callersOfEach })
    const begun = performance.now()
    for (let n = 1; n <= restarts; n++) {
      await load.ended(Math.ceil((calls * n) / (restarts + 1)))
      // Spread over all of them.
      const isKill = Math.floor((n * kills) / restarts) > Math.floor(((n - 1) * kills) / restarts)
      if (isKill) load.markKilled()
      await end(up, isKill ? 'SIGKILL' : 'SIGTERM')
      await wait(DOWN_MS)
      up = await startUp(dir)
    }
    await load.ended(calls)
    const ended = await load.finish()
    return figuresOf(ended, { done: await readFile(join(dir, 'done.txt'), 'utf8'), ms: performance.now() - begun })
  } finally {
    for (const client of clients) await client.close().catch(() => {})
    if (up) await end(up, 'SIGTERM')
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** @param {string} dir */
async function makeProject(dir) {
  const files = {
    'quartermaster.config.json': '{}',
    'done.txt': '',
    'agents/default.json': '{ "capabilities": { "work": {} } }',
    'capabilities/work.ts': TOOLS,
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), text)
  }
}

/** Resolves when it listens. @param {string} cwd */
async function startUp(cwd) {
  const args = [BIN, 'up', '--port', '0', '--json']
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`up ended with ${code}.`)
    }),
  ])
  return child
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
async function end(child, signal) {
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/**
 * @param {string} cwd
 * @param {typeof ERAS[number]} mode
 */
async function connectClient(cwd, mode) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'connect'],
    cwd,
    stderr: 'ignore',
  })
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(transport)
  await client.listTools()
  return client
}

/**
 * Callers that call one tool after the other until they are told to finish.
 * @param {readonly Client[]} clients
 * @param {{ callersOfEach: number }} options
 */
function createLoad(clients, { callersOfEach }) {
  /** @type {Ended[]} */
  const ended = []
  /** @type {Set<{ metKill: boolean }>} */
  const open = new Set()
  const finishing = new AbortController()
  let count = 0

  /** @param {Client} client */
  async function call(client) {
    const kind = KINDS[count % KINDS.length] ?? 'look'
    const id = `${kind}-${++count}`
    const one = { metKill: false }
    open.add(one)
    const startedAt = performance.now()
    const answer = await answerOf(client, { id, kind })
    open.delete(one)
    ended.push({ id, kind, ms: performance.now() - startedAt, ...one, ...answer })
  }

  /** @param {Client} client */
  async function caller(client) {
    while (!finishing.signal.aborted) await call(client)
  }

  const callers = clients.flatMap(client => Array.from({ length: callersOfEach }, () => caller(client)))
  return {
    /** Resolves when so many calls have been answered. @param {number} least */
    async ended(least) {
      while (ended.length < least) await wait(5)
    },
    markKilled() {
      for (const one of open) one.metKill = true
    },
    async finish() {
      finishing.abort()
      await Promise.all(callers)
      return ended
    },
  }
}

/**
 * @param {Client} client
 * @param {{ id: string, kind: Kind }} call
 */
async function answerOf(client, { id, kind }) {
  const name = kind === 'keyed' ? 'note' : kind
  const keyed = kind === 'keyed' ? { _meta: { 'quartermaster/idempotencyKey': id } } : {}
  try {
    const request = { name, arguments: { id }, ...keyed }
    const { isError = false, content, _meta } = await client.callTool(request, { timeout: CLIENT_TIMEOUT_MS })
    const [first] = /** @type {{ text?: string }[]} */ (content)
    const text = String(first?.text)
    const error = /** @type {{ code?: string } | undefined} */ (_meta?.['quartermaster/error'])
    return { isError: isError || text !== `done ${id}`, code: error?.code, text }
  } catch (error) {
    return { isError: true, code: undefined, text: String(error) }
  }
}

/**
 * @param {readonly Ended[]} ended
 * @param {{ done: string, ms: number }} found
 * @returns {Figure[]}
 */
function figuresOf(ended, { done, ms }) {
  const times = new Map()
  for (const id of done.split('\n').filter(Boolean)) times.set(id, (times.get(id) ?? 0) + 1)
  const once = ended.filter(({ kind }) => kind === 'note' || kind === 'keyed')
  const isInDoubt = (/** @type {Ended} */ { kind, metKill, code }) =>
    metKill && code === 'OUTCOME_UNKNOWN' && (kind === 'note' || kind === 'keyed')
  const failed = ended.filter(one => one.isError && !isInDoubt(one))
  for (const { id, text } of failed.slice(0, 20)) console.error(`${id}: ${text.slice(0, 300)}`)
  const waits = ended.map(one => one.ms)
  return [
    figure('calls', ended.length, 'calls'),
    never('failed', failed.length, 'calls'),
    never('done twice', once.filter(({ id }) => times.get(id) > 1).length, 'calls'),
    never('answered and not done', ended.filter(({ id, isError }) => !isError && !times.has(id)).length, 'calls'),
    figure('manual, running at a SIGKILL, answered OUTCOME_UNKNOWN', ended.filter(isInDoubt).length, 'calls'),
    figure(
      'idempotent or reading, run again',
      ended.filter(one => !once.includes(one) && times.get(one.id) > 1).length,
      'calls',
    ),
    figure('longest wait', highest(waits), 'ms'),
    figure('p99', quantile(waits, 0.99), 'ms'),
    figure('p50', quantile(waits, 0.5), 'ms'),
    figure('all of it', ms, 'ms'),
  ]
}
