// @ts-check
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { figure } from '../lib/figure.mjs'
import { usageOf } from '../lib/process-usage.mjs'
import { median } from '../lib/statistics.mjs'

/** @typedef {import('../lib/figure.mjs').Figure} Figure */

const BIN = fileURLToPath(new URL('../../packages/quartermaster/dist/bin/quartermaster.js', import.meta.url))
const GOAL_MB = 55
/** Node with what any bridge needs, and nothing of ours. */
const BARE = ['--input-type=module', '-e', 'import "node:http"; process.stdin.resume()']

/**
 * Bridges of each form beside a process of Node that does nothing, all with a client that has listed its tools.
 * @param {{ rounds: number, settleMs: number }} options
 * @returns {Promise<Figure[]>}
 */
export async function run({ rounds, settleMs }) {
  const dir = await mkdtemp(join(tmpdir(), 'quartermaster-connect-'))
  /** @type {import('node:child_process').ChildProcess[]} */
  const ups = []
  try {
    const places = [await startUp(join(dir, 'a'), ups), await startUp(join(dir, 'b'), ups)]
    const [first] = places
    if (!first) throw new Error('There is no server.')
    const forms = {
      'on this machine': { args: ['connect'], cwd: first.cwd, env: {} },
      'one workspace elsewhere': {
        args: ['connect', '--url', first.url],
        cwd: dir,
        env: { QUARTERMASTER_TOKEN: first.token },
      },
      'two workspaces elsewhere': {
        args: ['connect'],
        cwd: dir,
        env: { QUARTERMASTER_WORKSPACES: JSON.stringify(places.map(({ url, token }) => ({ url, token }))) },
      },
    }
    const bare = await medians(rounds, () => measure({ args: BARE, cwd: dir, env: {} }, settleMs))
    const figures = [figure('Node alone, resident memory', bare.mb, 'MB')]
    for (const [name, { args, ...where }] of Object.entries(forms)) {
      const { mb, ms } = await medians(rounds, () => measure({ args: [BIN, ...args], ...where }, settleMs))
      figures.push(
        figure(`${name}, resident memory`, mb, 'MB', GOAL_MB),
        figure(`${name}, against Node alone`, mb / bare.mb, 'times'),
        figure(`${name}, from its start to its first list of tools`, ms, 'ms'),
      )
    }
    return figures
  } finally {
    for (const up of ups) up.kill('SIGKILL')
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * An `up` with the workspace "laptop", and its token.
 * @param {string} cwd
 * @param {import('node:child_process').ChildProcess[]} ups
 */
async function startUp(cwd, ups) {
  await mkdir(join(cwd, 'agents'), { recursive: true })
  await writeFile(join(cwd, 'agents', 'default.json'), '{ "capabilities": { "inbox": {} } }')
  const up = spawn(process.execPath, [BIN, 'up', '--port', '0', '--json'], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
  ups.push(up)
  const line = await firstLine(up)
  const { url } = JSON.parse(line)
  const owner = (await readFile(join(cwd, '.quartermaster', 'admin-token'), 'utf8')).trim()
  /**
   * @param {string} path
   * @param {object} body
   */
  const post = async (path, body) => {
    const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return /** @type {{ id: string, token: string }} */ (await answer.json())
  }
  const { id } = await post('/workspaces', { name: 'laptop' })
  const { token } = await post(`/workspaces/${id}/tokens`, {})
  return { cwd, url: String(url), token: String(token) }
}

/** @param {import('node:child_process').ChildProcess} child */
function firstLine(child) {
  if (!child.stdout) throw new Error('It has no output.')
  const lines = createInterface({ input: child.stdout })
  return new Promise(resolve => lines.once('line', resolve))
}

/**
 * How long a client waits for its tools, and what the process has then.
 * @param {{ args: readonly string[], cwd: string, env: Record<string, string> }} form
 * @param {number} settleMs
 */
async function measure({ args, cwd, env }, settleMs) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  try {
    const isOurs = args[0] === BIN
    if (isOurs) await listTools(child)
    const ms = performance.now() - startedAt
    await wait(settleMs)
    return { ms, mb: usageOf(child.pid ?? 0).residentMb }
  } finally {
    child.kill('SIGKILL')
  }
}

/** @param {import('node:child_process').ChildProcess} child */
async function listTools(child) {
  const clientInfo = { name: 'bench', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const messages = [
    { id: 1, method: 'initialize', params },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]
  if (!child.stdout) throw new Error('It has no output.')
  const lines = createInterface({ input: child.stdout })
  for (const message of messages) {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    if (message.id === undefined) continue
    for await (const line of on(lines)) if (JSON.parse(line).id === message.id) break
  }
}

/** @param {import('node:readline').Interface} lines */
async function* on(lines) {
  for (;;) yield await new Promise(resolve => lines.once('line', resolve))
}

/**
 * @param {number} rounds
 * @param {() => Promise<{ mb: number, ms: number }>} work
 */
async function medians(rounds, work) {
  const all = []
  for (let round = 0; round < rounds; round++) all.push(await work())
  return { mb: median(all.map(({ mb }) => mb)), ms: median(all.map(({ ms }) => ms)) }
}
