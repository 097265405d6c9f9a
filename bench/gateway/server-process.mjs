// @ts-check
import { spawn } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { usageOf } from '../lib/process-usage.mjs'
import { summarise } from '../lib/profile-summary.mjs'

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */
/** @typedef {Awaited<ReturnType<typeof startServer>>} ServerProcess */

const PRELOAD = new URL('../lib/profiler-preload.mjs', import.meta.url).href
const TOP_FUNCTIONS = 25
/** A server that is not ready by then is broken. */
const READY_WITHIN_MS = 60_000

/**
 * Starts a server whose first line of output says where it listens, and waits until it is ready.
 * @param {object} options
 * @param {readonly string[]} options.args what `node` is told
 * @param {string} [options.cwd]
 * @param {Record<string, string>} [options.env]
 * @param {string} [options.profile] the file to which a CPU profile goes when one is taken
 */
export async function startServer({ args, cwd, env = {}, profile }) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...(profile ? ['--import', PRELOAD] : []), ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(profile ? [/** @type {const} */ ('ipc')] : [])],
  })
  /** @type {Promise<void>} */
  const exited = new Promise(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  try {
    const { url } = JSON.parse(await firstLine(child))
    await untilReady(url)
    const usage = () => usageOf(child.pid ?? 0)
    const started = { ms: performance.now() - startedAt, cpuMs: usage().cpuUs / 1000 }
    return { url: String(url), started, usage, stop, ...(profile && { profiler: createProfiler(child, profile) }) }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * @param {ChildProcess} child
 * @returns {Promise<string>}
 */
async function firstLine(child) {
  let complaints = ''
  /** @param {Buffer} text */
  const hear = text => (complaints += text)
  child.stderr?.on('data', hear)
  const line = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`A server ended with exit code ${code}. ${complaints}`)))
    if (child.stdout) createInterface({ input: child.stdout }).once('line', resolve)
  })
  // From here on what it writes is only taken off its hands.
  child.stderr?.off('data', hear).resume()
  return line
}

/** @param {string} url */
async function untilReady(url) {
  const givesUpAt = performance.now() + READY_WITHIN_MS
  while (performance.now() < givesUpAt) {
    const response = await fetch(`${url}/ready`)
    await response.arrayBuffer()
    if (response.ok) return
    await wait(2)
  }
  throw new Error(`${url} was not ready within ${READY_WITHIN_MS} ms.`)
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
