// @ts-check
// A program spoken to over its own pipes, by whoever measures: what nothing in between can be below.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { INITIALIZE, INITIALIZED } from '../gateway/workloads.mjs'
import { usageOf } from '../lib/process-usage.mjs'

/** @typedef {import('../gateway/connection.mjs').Answer} Answer */
/** @typedef {import('../gateway/connection.mjs').Connection} Connection */
/** @typedef {import('../lib/server-process.mjs').ServerProcess} ServerProcess */
/** @typedef {readonly [command: string, ...args: string[]]} Command */

/** @typedef {{ server: ServerProcess, connect: () => Promise<Connection> }} Pipe */

/**
 * Starts a program and opens a session with it. All connections share its pipes.
 * @param {Command} command
 * @returns {Promise<Pipe>}
 */
export async function openPipe([command, ...args]) {
  const startedAt = performance.now()
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] })
  /** @type {Promise<void>} */
  const exited = new Promise(resolve => child.once('exit', () => resolve()))
  const answers = createAnswers()
  createInterface({ input: child.stdout }).on('line', answers.hear)
  /** @type {Connection} */
  const connection = {
    ask(text) {
      child.stdin.write(`${text}\n`)
      return answers.to(text)
    },
    isOpen: () => true,
    close() {},
  }
  await connection.ask(JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE }))
  const usage = () => usageOf(child.pid ?? 0)
  const started = { ms: performance.now() - startedAt, cpuMs: usage().cpuUs / 1000 }
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...INITIALIZED })}\n`)
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return { server: { url: '', started, usage, stop }, connect: async () => connection }
}

/** Answers that come in whatever order, told apart by the number of their request. */
export function createAnswers() {
  /** @type {Map<number, (answer: Answer) => void>} */
  const waiting = new Map()
  return {
    /**
     * @param {string} request
     * @returns {Promise<Answer>}
     */
    to: request => new Promise(resolve => waiting.set(JSON.parse(request).id, resolve)),
    /** @param {string} message */
    hear(message) {
      const { id } = JSON.parse(message)
      waiting.get(id)?.({ head: '', body: message })
      waiting.delete(id)
    },
  }
}
