// An MCP server of the older era (2025-11-25), written by hand, that can be as ill-behaved as a test needs. Plain Node, no
// packages: node ill-server.mjs [FLAG …]. Flags combine; sizes and numbers are written as --flag=N, and most have a default.
//
// On its output
//   --banner[=N]          N lines of text before anything else (1)
//   --garbage[=N]         N lines that are no messages at its start (1000)
//   --garbage-on=METHOD   twenty thousand lines that are no messages instead of the answer to that
//   --garbage-in-calls=N  N lines that are no messages in every call
//   --garbage-between     a line that is no message before every answer
//   --huge-line=BYTES     a line of so many bytes at its start, written piece by piece
//   --huge-answer=BYTES   the tool "echo" answers with so many bytes of text
//   --deep=LEVELS         before every answer a message that nests so deep
//   --flood[=N]           N notifications after it is initialised; 0 never ends (100000)
//   --close-output        closes its output after it is initialised, and lives on
//   --batch               every answer is a batch of one
// On standard error
//   --stderr=TEXT         a line at its start
//   --stderr-flood[=N]    N lines at its start; 0 never ends (100000)
//   --secret=NAME         a line at its start with the value of that variable
// Its life
//   --exit[=CODE]         ends at its start (1)
//   --throw               ends at its start with an error and a stack
//   --needs=FILE          ends at its start unless that file is there
//   --exit-after=N        ends after it has read and answered N messages
//   --exit-on=METHOD      ends when it is asked that
//   --falls-once=FILE     appends the name of every tool that is called to this file, and ends at the first call of each
//   --falls-at=TOOL       ends whenever that tool is called
//   --stubborn            takes no notice of SIGTERM and of closed pipes
//   --linger=MS           lives on so long after its input was closed
//   --fork                starts a process that never ends
//   --fork-detached       starts one in a session of its own
//   --fork-bare           starts one in a session of its own, with an empty environment
//   --pids=FILE           appends its process number and those it started to this file, a line each
// Its answers
//   --hang                reads, and never answers
//   --hang-on=METHOD      never answers that
//   --hang-after=N        never answers again after it has read N messages
//   --deaf                does not even read
//   --late=MS             answers so much later
//   --twice               answers everything twice
//   --unknown-ids         sends an answer to nothing before every answer
//   --gather=N            answers calls when there are N of them, the last one first. Around every answer it answers once more, with
//                         "not yours", all that it has answered, what was cancelled, and nothing. It tells what
//                         it gathers and what is cancelled on standard error
//   --blocks-from=MS      does a "slow" of so many ms or more in the one thread that also reads
//   --silent-on-unknown   does not answer what it does not know, instead of saying so
//   --dies-on-unknown     ends instead
//   --answers=FILE        by method what it answers, to the letter: texts of JSON in a JSON file
//   --version=TEXT        the revision it claims ("2025-11-25")
//   --modern              is of the newer era instead (2026-07-28)
// What it has
//   --tools=N             so many more tools, "extra_0" and on
//   --pages=N             its tools on N pages; 0 never ends
//   --definitions=FILE    tools from a JSON file, read whenever it is asked, instead of its own; calling one echoes. It
//                         tells when the file has changed
//   --plugin=NAME         one more tool from the first time that it is asked for its tools: it tells of that, and answers with
//                         those that it had before
//   --instructions=TEXT   what it says about itself
//   --title=TEXT          its title
//
// Tools: echo { text }, add { a, b }, slow { ms }, append { file, text }, env {}, where {}, pids {}, die { code },
// say_stderr { text }, announce {} (tools have changed), progress { steps }, ask { message } (an elicitation).
import { spawn } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as after } from 'node:timers/promises'

const flags = new Map(
  process.argv.slice(2).map(arg => {
    const [, name, value] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? [null, arg, undefined]
    return [name, value]
  }),
)
const has = name => flags.has(name)
const text = (name, otherwise = '') => flags.get(name) ?? otherwise
const number = (name, otherwise) => Number(flags.get(name) ?? otherwise)

// Written at once and wholly, also just before it ends.
function writeAll(target, data) {
  const bytes = Buffer.from(data)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(target, bytes, at)
    } catch (error) {
      if (error.code === 'EAGAIN') continue
      if (has('stubborn')) return
      process.exit(0)
    }
  }
}
const print = line => writeAll(1, `${line}\n`)
const complain = line => writeAll(2, `${line}\n`)
const send = message => print(JSON.stringify({ jsonrpc: '2.0', ...message }))

// --- its start

const started = [process.pid]
const forks = { fork: {}, 'fork-detached': { detached: true }, 'fork-bare': { detached: true, env: {} } }
for (const [, options] of Object.entries(forks).filter(([flag]) => has(flag)))
  started.push(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit', ...options }).pid)
if (has('pids')) appendFileSync(text('pids'), started.map(pid => `${pid}\n`).join(''))

if (has('stderr')) complain(text('stderr'))
if (has('secret')) complain(`the secret is ${process.env[text('secret')]}`)
if (has('stderr-flood')) void repeat(number('stderr-flood', 100_000), i => complain(`noise ${i}`))
if (has('throw')) throw new TypeError('It was never going to work')
if (has('needs') && !existsSync(text('needs'))) {
  complain(`Error: ${text('needs')} is missing`)
  process.exit(1)
}
if (has('exit')) process.exit(number('exit', 1))

for (let i = 0; has('banner') && i < number('banner', 1); i++) print(`Ill server, line ${i + 1} of its greeting`)
if (has('garbage')) babble(number('garbage', 1_000))
if (has('huge-line')) {
  const piece = 'x'.repeat(65_536)
  for (let left = number('huge-line', 0); left > 0; left -= piece.length) writeAll(1, piece.slice(0, left))
  print('')
}

if (has('stubborn')) {
  process.on('SIGTERM', () => {})
  setInterval(() => {}, 1_000)
}

function babble(lines) {
  for (let i = 0; i < lines; i++) print(`garbage ${i} \u001b[31m`)
}

// In portions, so that it reads and answers in between.
async function repeat(times, run) {
  const end = times === 0 ? Number.POSITIVE_INFINITY : times
  for (let i = 0; i < end; i++) {
    run(i)
    if (i % 1_000 === 999) await after(0)
  }
}

// --- what it has

const schema = properties => ({ type: 'object', properties })
const string = { type: 'string' }
const numeric = { type: 'number' }
const READS = { readOnlyHint: true }
const said = value => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] })

const TOOLS = {
  echo: {
    description: 'Says the text again.',
    inputSchema: schema({ text: string }),
    annotations: READS,
    run: ({ text: words = '' }) => said(has('huge-answer') ? 'x'.repeat(number('huge-answer', 0)) : words),
  },
  add: {
    description: 'Adds two numbers.',
    inputSchema: schema({ a: numeric, b: numeric }),
    outputSchema: { ...schema({ sum: numeric }), required: ['sum'] },
    annotations: READS,
    run: ({ a, b }) => ({ ...said({ sum: a + b }), structuredContent: { sum: a + b } }),
  },
  slow: {
    description: 'Answers later.',
    inputSchema: schema({ ms: numeric }),
    annotations: READS,
    run({ ms = 100 }) {
      if (ms < number('blocks-from', Number.POSITIVE_INFINITY)) return after(ms, said('at last'))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
      return said('at last')
    },
  },
  append: {
    description: 'Appends a line to a file.',
    inputSchema: schema({ file: string, text: string }),
    run({ file, text: line = '' }) {
      appendFileSync(file, `${line}\n`)
      return said('done')
    },
  },
  env: {
    description: 'Its environment.',
    inputSchema: schema({}),
    annotations: READS,
    run: () => said(process.env),
  },
  where: {
    description: 'Its working folder.',
    inputSchema: schema({}),
    annotations: READS,
    run: () => said(process.cwd()),
  },
  pids: {
    description: 'Its process and those it has started.',
    inputSchema: schema({}),
    annotations: READS,
    run: () => said(started),
  },
  die: {
    description: 'Ends without an answer.',
    inputSchema: schema({ code: numeric }),
    run: ({ code = 1 }) => process.exit(code),
  },
  say_stderr: {
    description: 'Says a line on standard error.',
    inputSchema: schema({ text: string }),
    run({ text: line = '' }) {
      complain(line)
      return said('said')
    },
  },
  announce: {
    description: 'Tells that its tools have changed.',
    inputSchema: schema({}),
    run() {
      send({ method: 'notifications/tools/list_changed' })
      return said('told')
    },
  },
  progress: {
    description: 'Tells how far it is.',
    inputSchema: schema({ steps: numeric }),
    annotations: READS,
    run({ steps = 3 }, { _meta }) {
      for (let progress = 1; progress <= steps; progress++)
        send({
          method: 'notifications/progress',
          params: { progressToken: _meta?.progressToken, progress, total: steps, message: `step ${progress}` },
        })
      return said('all done')
    },
  },
  ask: {
    description: 'Asks whoever calls.',
    inputSchema: schema({ message: string }),
    run: async ({ message = 'Your name?' }) =>
      said(await question('elicitation/create', { message, requestedSchema: schema({ name: string }) })),
  },
}

function tools() {
  if (has('definitions')) return JSON.parse(definitions())
  const own = Object.entries(TOOLS).map(([name, { run: _run, ...definition }]) => ({ name, ...definition }))
  const extra = Array.from({ length: number('tools', 0) }, (_, i) => ({ ...own[0], name: `extra_${i}` }))
  const plugin = isPlugged ? [{ ...own[0], name: text('plugin') }] : []
  return [...own, ...extra, ...plugin]
}

const definitions = () => readFileSync(text('definitions'), 'utf8')

/** By what is in the file: a watch that begins late takes a file that has changed for the first one. */
function watchDefinitions() {
  let known = definitions()
  const look = () => {
    const now = definitions()
    if (now !== known) send(CHANGED)
    known = now
  }
  setInterval(look, 50).unref()
}

let isPlugged = false
function plugIn() {
  const before = tools()
  isPlugged = true
  send(CHANGED)
  return { tools: before }
}

function listTools({ cursor = '0' }) {
  if (has('plugin') && !isPlugged) return plugIn()
  if (!has('pages')) return { tools: tools() }
  const pages = number('pages', 0)
  const page = Number(cursor)
  const next = pages === 0 || page + 1 < pages ? { nextCursor: String(page + 1) } : {}
  if (pages === 0) return { tools: tools().map(tool => ({ ...tool, name: `${tool.name}_${page}` })), ...next }
  const all = tools()
  const size = Math.ceil(all.length / pages)
  return { tools: all.slice(page * size, (page + 1) * size), ...next }
}

async function callTool(params) {
  if (has('garbage-in-calls')) babble(number('garbage-in-calls', 0))
  const { name, arguments: input = {} } = params
  if (has('falls-once')) fallOnce(name)
  if (text('falls-at') === name) process.exit(1)
  if (has('definitions') || name.startsWith('extra_')) return said(input)
  const tool = TOOLS[name.replace(/_\d+$/, '')]
  return tool ? tool.run(input, params) : { ...said(`There is no tool ${name}`), isError: true }
}

function fallOnce(name) {
  const file = text('falls-once')
  const isKnown = existsSync(file) && readFileSync(file, 'utf8').split('\n').includes(name)
  appendFileSync(file, `${name}\n`)
  if (!isKnown) process.exit(1)
}

// --- what it is asked

const about = () => ({
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: 'ill-server', version: '1.0.0', ...(has('title') ? { title: text('title') } : {}) },
  ...(has('instructions') ? { instructions: text('instructions') } : {}),
})

const METHODS = {
  ...(has('modern')
    ? { 'server/discover': () => ({ supportedVersions: ['2026-07-28'], ...about() }) }
    : { initialize: () => ({ protocolVersion: text('version', '2025-11-25'), ...about() }), ping: () => ({}) }),
  'tools/list': listTools,
  'tools/call': callTool,
}

const asked = new Map()
function question(method, params) {
  const id = `q${asked.size + 1}`
  send({ id, method, params })
  return new Promise(resolve => asked.set(id, resolve))
}

function reply(answer) {
  if (has('garbage-between')) print('garbage between')
  if (has('deep'))
    print(`{"jsonrpc":"2.0","id":0,"result":${'['.repeat(number('deep', 0))}${']'.repeat(number('deep', 0))}}`)
  if (has('unknown-ids')) send({ id: 987_654_321, result: {} })
  for (let i = 0; i < (has('twice') ? 2 : 1); i++)
    if (has('batch')) print(JSON.stringify([{ jsonrpc: '2.0', ...answer }]))
    else send(answer)
}

let gathered = []
const answered = []

async function gather(call) {
  gathered.push(call)
  complain(`gathered ${gathered.length}`)
  if (gathered.length < number('gather', 1)) return
  for (const { id, params } of gathered.splice(0).toReversed()) {
    sendStrays()
    reply({ id, result: await callTool(params) })
    answered.push(id)
    sendStrays()
  }
}

function sendStrays() {
  for (const id of [...answered, 987_654_321]) send({ id, result: said('not yours') })
}

function cancelled({ requestId }) {
  gathered = gathered.filter(({ id }) => id !== requestId)
  answered.push(requestId)
  complain('cancelled')
}

async function serve({ id, method, params = {} }) {
  if (has('hang') || text('hang-on') === method) return
  if (has('hang-after') && read > number('hang-after', 1)) return
  if (text('garbage-on') === method) return babble(20_000)
  if (has('gather') && method === 'tools/call') return gather({ id, params })
  const letters = has('answers') ? JSON.parse(readFileSync(text('answers'), 'utf8'))[method] : undefined
  if (letters !== undefined) return print(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${letters}}`)
  const run = METHODS[method]
  if (!run && has('dies-on-unknown')) process.exit(1)
  if (!run && has('silent-on-unknown')) return
  if (has('late')) await after(number('late', 100))
  if (!run) return reply({ id, error: { code: -32601, message: `Method not found: ${method}` } })
  reply({ id, result: await run(params) })
}

const CHANGED = { method: 'notifications/tools/list_changed' }

async function told({ method, params = {} }) {
  if (has('gather') && method === 'notifications/cancelled') cancelled(params)
  if (method !== 'notifications/initialized') return
  if (has('definitions')) watchDefinitions()
  if (has('close-output')) closeSync(1)
  if (has('flood'))
    await repeat(number('flood', 100_000), i =>
      send({ method: 'notifications/message', params: { level: 'info', data: `flood ${i}` } }),
    )
}

let read = 0
function receive(message) {
  read++
  if (text('exit-on') && text('exit-on') === message.method) process.exit(1)
  if (message.method === undefined) {
    asked.get(message.id)?.(message.result ?? message.error)
    asked.delete(message.id)
  } else if (message.id === undefined) void told(message)
  else void serve(message)
  if (has('exit-after') && read >= number('exit-after', 1)) setImmediate(() => process.exit(1))
}

let rest = ''
if (!has('deaf')) {
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', chunk => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.trim()) receive(JSON.parse(line))
  })
  process.stdin.on('end', () => {
    if (has('linger')) setTimeout(() => process.exit(0), number('linger', 1_000))
    else if (!has('stubborn')) process.exit(0)
  })
} else setInterval(() => {}, 1_000)
