// @ts-check
// The least that can stand between an HTTP client and a program: node bridge.mjs COMMAND [ARG …]. It gives every request a
// number of its own, writes it down the pipe and sends back what comes. No tokens, no checks, no restarts, one session for all.
import { spawn } from 'node:child_process'
import { sendAnswer, serveMessages } from './messages.mjs'

const [command = '', ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.on('exit', () => process.exit(1))

/** @typedef {{ id: unknown, response: import('node:http').ServerResponse, headers?: Record<string, string> }} Waiting */

/** @type {Map<number, Waiting>} */
const waiting = new Map()
let nextId = 1
let rest = ''

child.stdout.setEncoding('utf8').on('data', chunk => {
  const lines = (rest + chunk).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) passBack(JSON.parse(line))
})

/** @param {{ id: number }} answer */
function passBack(answer) {
  const one = waiting.get(answer.id)
  if (!one) return
  waiting.delete(answer.id)
  sendAnswer(one.response, { ...answer, id: one.id }, one.headers)
}

/** @param {object} message */
const passOn = message => void child.stdin.write(`${JSON.stringify(message)}\n`)

serveMessages((message, _, response) => {
  if (message.id === undefined) {
    passOn(message)
    return response.writeHead(202).end()
  }
  const id = nextId++
  const opens = message.method === 'initialize' && { headers: { 'mcp-session-id': 'the-only-one' } }
  waiting.set(id, { id: message.id, response, ...opens })
  passOn({ ...message, id })
})

process.on('SIGTERM', () => {
  child.kill()
  process.exit(0)
})
