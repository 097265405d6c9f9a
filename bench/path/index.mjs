// @ts-check
// Counts the files and functions of ours on the way of one warm call: what has to be read to follow it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openConnection } from '../gateway/connection.mjs'
import { ADD as ADD_NUMBERS, toolCalls } from '../gateway/workloads.mjs'
import { AGENT, issueToken, onStageOf } from '../lib/stage.mjs'

/** @typedef {{ file: string, functions: string[] }} Called */

/** Enough that caches are filled and nothing is compiled any more. */
const WARM_CALLS = 20
const MOST_TRIES = 100
const ADDER = fileURLToPath(new URL('../upstreams/servers/adder.mjs', import.meta.url))
/** The modules as the compiler wrote them, so that files have their own names. */
const BIN = fileURLToPath(new URL('../../packages/quartermaster/dist/modules/bin/quartermaster.js', import.meta.url))
const PRELOAD = new URL('coverage-preload.mjs', import.meta.url).href

/** @type {import('../gateway/workloads.mjs').CalledTool} */
const READ = {
  name: 'read_file',
  inputOf: () => ({ path: 'six.txt' }),
  isRight: ({ content }) => content?.[0]?.text?.includes('sixth') === true,
}
const mcpServers = { adder: { command: process.execPath, args: [ADDER] } }
const ADD = { ...ADD_NUMBERS, name: 'adder_add' }

const { values: flags } = parseArgs({
  options: { json: { type: 'boolean', default: false }, files: { type: 'boolean', default: false } },
})

const rows = await onStageOf(ground => ground, measure)
if (flags.json) console.log(JSON.stringify(rows))
else for (const row of rows) print(row)

/** @param {import('../lib/stage.mjs').Ground} ground */
async function measure(ground) {
  return [
    { what: 'read_file over HTTP', ...(await pathOf(ground, READ, { capabilities: { files: { dirs: ['.'] } } })) },
    {
      what: 'a tool of a stdio server over HTTP',
      ...(await pathOf(ground, ADD, { capabilities: { adder: {} }, mcpServers })),
    },
  ]
}

/**
 * What runs for one call after the first ones, in a server that has nothing else to do.
 * @param {import('../lib/stage.mjs').Ground} ground
 * @param {import('../gateway/workloads.mjs').CalledTool} tool
 * @param {{ capabilities: object, mcpServers?: object }} project
 */
async function pathOf(ground, tool, { capabilities, mcpServers = {} }) {
  const cwd = await ground.folder()
  await mkdir(join(cwd, 'agents'))
  await writeFile(join(cwd, 'six.txt'), 'sixth\n')
  await writeFile(join(cwd, 'agents', `${AGENT}.json`), JSON.stringify({ capabilities }))
  await writeFile(join(cwd, 'quartermaster.config.json'), JSON.stringify({ mcpServers }))
  const server = await startServer(cwd)
  ground.atEnd(server.stop)
  const call = await mcpCall(server.url, await issueToken(server.url, cwd), tool)
  // A server that was only just started may not have its tools yet.
  for (let tries = 0; !(await call()); tries++) {
    if (tries === MOST_TRIES) throw new Error(`${tool.name} gives a wrong answer.`)
    await wait(100)
  }
  for (let i = 0; i < WARM_CALLS; i++) await call()
  await server.ran()
  if (!(await call())) throw new Error(`${tool.name} gave a wrong answer.`)
  const called = await server.ran()
  return { files: called.length, functions: called.flatMap(({ functions }) => functions).length, called }
}

/** `up` on the modules as they were compiled. @param {string} cwd */
async function startServer(cwd) {
  const args = ['--import', PRELOAD, BIN, 'up', '--port', '0', '--json']
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'ignore', 'ipc'] })
  const { stdout } = child
  if (!stdout) throw new Error('A server without output cannot say where it listens.')
  const exited = once(child, 'exit')
  const [line] = await Promise.race([
    once(createInterface({ input: stdout }), 'line'),
    exited.then(() => Promise.reject(new Error('The server ended before it was ready.'))),
  ])
  stdout.resume()
  const { url } = JSON.parse(line)
  while (!(await fetch(`${url}/ready`)).ok);
  return {
    url: String(url),
    /** What ran since it was last asked. @returns {Promise<Called[]>} */
    async ran() {
      const answer = once(child, 'message')
      child.send({})
      return (await answer)[0]
    },
    async stop() {
      child.kill()
      await exited
    },
  }
}

/**
 * @param {string} url
 * @param {string} token
 * @param {import('../gateway/workloads.mjs').CalledTool} tool
 */
async function mcpCall(url, token, tool) {
  const next = toolCalls({ name: 'path', server: /** @type {any} */ ({ url }), token }, tool)
  const connection = await openConnection(url)
  return async () => {
    const { text, isRight } = next()
    return isRight(await connection.ask(text))
  }
}

/** @param {{ what: string, files: number, functions: number, called: Called[] }} row */
function print({ what, files, functions, called }) {
  console.log(`${what}: ${files} files, ${functions} functions`)
  if (!flags.files) return
  for (const { file, functions: names } of called) console.log(`  ${file}: ${names.join(', ')}`)
}
