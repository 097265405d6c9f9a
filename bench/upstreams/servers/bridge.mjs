// @ts-check
// The least that can stand between an HTTP client and a program: node bridge.mjs COMMAND [ARG …]. It gives every request a
// number of its own, writes it down the pipe and sends back what comes. No tokens, no checks, no restarts, one era.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const [command = '', ...args] = process.argv.slice(2)
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
child.on('exit', () => process.exit(1))

/** @typedef {{ id: unknown, response: import('node:http').ServerResponse }} Waiting */

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
  const body = JSON.stringify({ ...answer, id: one.id })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  one.response.writeHead(200, headers).end(body)
}

const server = createServer((request, response) => {
  if (request.url === '/ready') return response.end()
  /** @type {Buffer[]} */
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const message = JSON.parse(String(Buffer.concat(chunks)))
    const id = nextId++
    waiting.set(id, { id: message.id, response })
    child.stdin.write(`${JSON.stringify({ ...message, id })}\n`)
  })
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  console.log(JSON.stringify({ url: `http://127.0.0.1:${port}` }))
})

process.on('SIGTERM', () => {
  child.kill()
  process.exit(0)
})
