// The client that the suite judges: a running product with the suite's server as its upstream. Whoever calls through it
// does what the scenario wants done, and signs in when the upstream says that somebody has to.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { openControl } from '../../../packages/quartermaster/dist/app/open-control.js'
import { callsFor } from './calls.mjs'

const BIN = fileURLToPath(new URL('../../../packages/quartermaster/dist/bin/quartermaster.js', import.meta.url))
const CLIENT_DOCUMENT = 'https://conformance-test.local/client-metadata.json'
/** Signing in more often than this gets nobody further. */
const MOST_LOGINS = 3

const url = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const isModern = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION === '2026-07-28'

const folder = await mkdtemp(join(tmpdir(), 'conformance-client-'))
const up = await startUp()
try {
  await drive()
} finally {
  up.child.kill('SIGTERM')
  await up.ended
  await rm(folder, { recursive: true, force: true })
}

async function startUp() {
  const { client_id: clientId, client_secret: clientSecret } = context
  const oauth = clientId ? { clientId, clientSecret } : { clientMetadataUrl: CLIENT_DOCUMENT }
  const target = { url, oauth, prefix: false, newTools: 'offer', findings: 'allow' }
  await mkdir(join(folder, 'agents'))
  await writeFile(join(folder, 'quartermaster.config.json'), JSON.stringify({ mcpServers: { target } }))
  await writeFile(join(folder, 'agents/default.json'), JSON.stringify({ capabilities: { target: {} }, view: 'direct' }))
  const child = spawn(process.execPath, [BIN, 'up', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise(resolve => child.once('exit', resolve))
  const [line] = await Promise.race([
    lines(child.stdout),
    ended.then(code => Promise.reject(new Error(`up ended with ${code}`))),
  ])
  return { child, ended, facts: JSON.parse(line) }
}

async function lines(stream) {
  for await (const line of createInterface({ input: stream })) return [line]
  return []
}

async function drive() {
  const silent = () => {}
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  const { control } = await openControl({ from: folder, env: process.env, log })
  let logins = 0
  const mayLogIn = () => logins++ < MOST_LOGINS
  let status = await settled(control)
  while (status.state === 'needsLogin' && mayLogIn()) {
    await signIn(control)
    status = await settled(control)
  }
  if (status.state !== 'up') throw new Error(`${status.state}: ${status.reason}`)
  const { token } = await control.createToken({ agent: 'default' })
  const client = await connect(token)
  const { tools } = await client.listTools()
  process.stderr.write(`tools: ${tools.map(({ name }) => name).join(', ')}\n`)
  for (const call of callsFor({ scenario, tools, context })) await callOrSignIn({ control, client, call, mayLogIn })
  await readAll(client)
  await client.close()
}

/** What can be read of the server, once each. */
async function readAll(client) {
  const { resources } = await client.listResources()
  for (const { uri } of resources) if (!uri.startsWith('quartermaster:')) await client.readResource({ uri }).catch(tell)
  const { prompts } = await client.listPrompts()
  for (const { name, arguments: wanted = [] } of prompts) {
    const given = Object.fromEntries(wanted.map(argument => [argument.name, 'text']))
    await client.getPrompt({ name, arguments: given }).catch(tell)
  }
}

function tell(error) {
  process.stderr.write(`${error.message}\n`)
}

async function settled(control) {
  for (;;) {
    const [status] = await control.upstreams({})
    if (status && !['starting', 'idle', 'recovering'].includes(status.state)) return status
    await pause(25)
  }
}

/** Signs in as a person does who says yes at once. */
async function signIn(control) {
  const { attempt, url: there } = await control.beginLogin({ upstream: 'target' })
  const answer = await fetch(there, { redirect: 'manual' })
  const redirectUrl = answer.headers.get('location')
  if (!redirectUrl) throw new Error(`Nobody was sent back: HTTP ${answer.status}`)
  await control.finishLogin({ attempt, redirectUrl })
}

async function connect(token) {
  const client = new Client(
    { name: 'driver', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: isModern ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
  await client.connect(
    new StreamableHTTPClientTransport(new URL(up.facts.mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  return client
}

async function callOrSignIn({ control, client, call, mayLogIn }) {
  for (;;) {
    const error = await client.callTool(call).then(
      result => (result.isError ? new Error(JSON.stringify(result.content)) : undefined),
      reason => reason,
    )
    if (!error) return
    process.stderr.write(`${call.name}: ${error.message}\n`)
    // More rights are wanted, or the login is no good any more.
    if (!/sign in|login/i.test(error.message) || !mayLogIn()) return
    await signIn(control)
    await settled(control)
  }
}
