// @ts-check
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { usageOf } from './process-usage.mjs'
import { summarise } from './profile-summary.mjs'

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {Awaited<ReturnType<typeof startServer>>} StartedServer */
/**
 * What stands in for one need not be killed, nor say how it ended.
 * @typedef {Omit<StartedServer, 'kill' | 'stop'> & Partial<Pick<StartedServer, 'kill'>> & { stop: () => Promise<unknown> }} ServerProcess
 */

const PRELOAD = new URL('./profiler-preload.mjs', import.meta.url).href
const TOP_FUNCTIONS = 25
/** A server that is not ready by then is broken. */
const READY_WITHIN_MS = 60_000
/** Some take their time over connections that nobody needs any more. */
const END_WITHIN_MS = 3_000
const MOST_COMPLAINTS = 2_000

/**
 * Starts a server whose first line of output says where it listens, unless that is known, and waits until it is ready.
 * @param {object} options
 * @param {readonly string[]} options.args what `node` is told
 * @param {string} [options.cwd]
 * @param {Record<string, string>} [options.env]
 * @param {string} [options.profile] the file to which a CPU profile goes when one is taken
 * @param {string} [options.knownUrl] where it listens
 * @param {(url: string) => Promise<boolean>} [options.isReady]
 */
export async function startServer({ args, cwd, env = {}, profile, knownUrl, isReady = saysReady }) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...(profile ? ['--import', PRELOAD] : []), ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(profile ? [/** @type {const} */ ('ipc')] : [])],
  })
  // Whoever measures may break down, and must not leave a server behind.
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  /** @type {Promise<number | null>} */
  const exited = new Promise(resolve => child.once('exit', resolve))
  void exited.then(() => process.off('exit', end))
  /** Politely; answers its exit code, and none where that did not help. */
  const stop = async (withinMs = END_WITHIN_MS) => {
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
    const code = await exited
    clearTimeout(timer)
    return code
  }
  /** Without a word, as a power failure ends it. */
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  try {
    const url = await Promise.race([untimelyEnd(child), comesUp(child, { knownUrl, isReady })])
    const usage = () => usageOf(child.pid ?? 0)
    const started = { ms: performance.now() - startedAt, cpuMs: usage().cpuUs / 1000 }
    return { url, started, usage, stop, kill, ...(profile && { profiler: createProfiler(child, profile) }) }
  } catch (error) {
    // One that could not be started has nothing to be stopped, and never exits.
    if (child.pid !== undefined) await stop()
    throw error
  }
}

/**
 * @param {ChildProcess} child
 * @returns {Promise<never>}
 */
function untimelyEnd(child) {
  let complaints = ''
  child.stderr?.on('data', text => {
    if (complaints.length < MOST_COMPLAINTS) complaints += text
  })
  return new Promise((_, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`A server ended with exit code ${code}. ${complaints}`)))
  })
}

/**
 * @param {ChildProcess} child
 * @param {{ knownUrl: string | undefined, isReady: (url: string) => Promise<boolean> }} options
 */
async function comesUp(child, { knownUrl, isReady }) {
  const url = knownUrl ?? String(JSON.parse(await firstLine(child)).url)
  // From here on what it writes is only taken off its hands.
  child.stdout?.resume()
  await untilReady(url, isReady)
  return url
}

/**
 * @param {ChildProcess} child
 * @returns {Promise<string>}
 */
async function firstLine({ stdout }) {
  if (!stdout) throw new Error('A server without output cannot say where it listens.')
  const [line] = await once(createInterface({ input: stdout }), 'line')
  return line
}

/**
 * @param {string} url
 * @param {(url: string) => Promise<boolean>} isReady
 */
async function untilReady(url, isReady) {
  const givesUpAt = performance.now() + READY_WITHIN_MS
  while (performance.now() < givesUpAt) {
    if (await isReady(url)) return
    await wait(2)
  }
  throw new Error(`${url} was not ready within ${READY_WITHIN_MS} ms.`)
}

/** Whether the server says so itself. @param {string} url */
export async function saysReady(url) {
  const response = await fetch(`${url}/ready`)
  await response.arrayBuffer()
  return response.ok
}

/**
 * @param {ChildProcess} child
 * @param {string} file
 */
function createProfiler(child, file) {
  /** @param {object} message */
  const tell = message =>
    new Promise(resolve => {
      child.once('message', resolve)
      child.send(message)
    })
  return {
    async start() {
      await mkdir(dirname(file), { recursive: true })
      await tell({})
    },
    async stop() {
      await tell({ file })
      console.error(`${file}: ${summarise(JSON.parse(await readFile(file, 'utf8')), TOP_FUNCTIONS)}`)
    },
  }
}
