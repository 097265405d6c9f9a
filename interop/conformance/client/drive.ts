import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client'
import type { Control, UpstreamStatus } from '../../../packages/quartermaster/src/contracts/index.ts'
import { type Call, type Context, callsFor } from './calls.ts'

/** What the suite tells the client that it starts. */
export interface Scenario {
  readonly name: string
  readonly revision: string
  /** The suite's server. */
  readonly url: string
  readonly context: Context
}

export interface Drive {
  readonly scenario: Scenario
  /** Of the upstream, and of the agent that has it and nothing else. */
  readonly key: string
  readonly control: Control
  readonly mcpUrl: string
  /** Takes a line for whoever looks why a scenario failed. */
  tell(line: string): void
}

/** Signing in more often than this gets nobody further. */
const MOST_LOGINS = 3
/** A server of the suite answers at once; a product that has not settled by then never does. */
const SETTLED_WITHIN_MS = 30_000
/** What a new upstream has shows in the list of its agent right after it is up. */
const LISTED_WITHIN_MS = 2_000

/** Calls through the product what the scenario wants called, and signs in when the upstream says that somebody has to. */
export async function drive(task: Drive): Promise<void> {
  const { scenario, key, control, tell } = task
  let logins = 0
  const mayLogIn = () => logins++ < MOST_LOGINS
  let status = await settled(task)
  while (status.state === 'needsLogin' && mayLogIn()) {
    await signIn(task)
    status = await settled(task)
  }
  if (status.state !== 'up') throw new Error(`${status.state}: ${status.reason}`)
  const { token } = await control.createToken({ agent: key })
  const client = await connect(task, token)
  const tools = await offeredTo(client, task)
  tell(`tools: ${tools.map(({ name }) => name).join(', ')}`)
  for (const call of callsFor({ scenario: scenario.name, tools, context: scenario.context }))
    await callOrSignIn(task, { client, call, mayLogIn })
  await readAll(client, tell)
  await client.close()
}

async function settled({ key, control }: Drive): Promise<UpstreamStatus> {
  for (const until = Date.now() + SETTLED_WITHIN_MS; ; ) {
    const status = (await control.upstreams({})).find(({ name }) => name === key)
    if (status && !['starting', 'idle', 'recovering'].includes(status.state)) return status
    if (Date.now() > until) throw new Error(`The upstream did not settle: ${JSON.stringify(status)}`)
    await pause(25)
  }
}

/** Signs in as a person does who says yes at once. */
async function signIn({ key, control }: Drive): Promise<void> {
  const { attempt, url } = await control.beginLogin({ upstream: key })
  const answer = await fetch(url, { redirect: 'manual' })
  const redirectUrl = answer.headers.get('location')
  if (!redirectUrl) throw new Error(`Nobody was sent back: HTTP ${answer.status}`)
  await control.finishLogin({ attempt, redirectUrl })
}

async function connect({ scenario, mcpUrl }: Drive, token: string): Promise<Client> {
  const client = new Client(
    { name: 'driver', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
      versionNegotiation: { mode: scenario.revision === '2026-07-28' ? { pin: '2026-07-28' } : 'legacy' },
    },
  )
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }))
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit }))
  return client
}

/** What the agent is offered, once that is as much as the upstream is said to offer; a tool that nobody can call stays away. */
async function offeredTo(client: Client, task: Drive): Promise<Tool[]> {
  for (const until = Date.now() + LISTED_WITHIN_MS; ; ) {
    const tools = await toolsOf(client, task.key)
    const { offered } = (await settled(task)).tools
    if (tools.length === offered || Date.now() > until) return tools
    await pause(25)
  }
}

/** Under the names that the server gave them: the gateway puts the upstream's before them. */
async function toolsOf(client: Client, key: string): Promise<Tool[]> {
  // From the server each time: a client of the newer era keeps a list for a minute, also one from a moment too early.
  const { tools } = await client.listTools(undefined, { cacheMode: 'refresh' })
  const strays = tools.map(({ name }) => name).filter(name => OF_A_SCENARIO.exec(name)?.[1] !== key)
  if (strays.length > 0) throw new Error(`There are tools that are not its own: ${strays.join(', ')}`)
  return tools.map(tool => ({ ...tool, name: tool.name.slice(`${key}_`.length) }))
}

const OF_A_SCENARIO = /^(s\d+)_/

async function callOrSignIn(
  task: Drive,
  { client, call, mayLogIn }: { client: Client; call: Call; mayLogIn: () => boolean },
): Promise<void> {
  for (;;) {
    const error = await client.callTool({ ...call, name: `${task.key}_${call.name}` }).then(
      result => (result.isError ? new Error(JSON.stringify(result.content)) : undefined),
      (reason: Error) => reason,
    )
    if (!error) return
    task.tell(`${call.name}: ${error.message}`)
    // More rights are wanted, or the login is no good any more.
    if (!/sign in|login/i.test(error.message) || !mayLogIn()) return
    await signIn(task)
    await settled(task)
  }
}

/** What can be read of the server, once each. */
async function readAll(client: Client, tell: Drive['tell']): Promise<void> {
  const told = (error: Error) => tell(error.message)
  const { resources } = await client.listResources()
  for (const { uri } of resources) if (!uri.startsWith('quartermaster:')) await client.readResource({ uri }).catch(told)
  const { prompts } = await client.listPrompts()
  for (const { name, arguments: wanted = [] } of prompts) {
    const given = Object.fromEntries(wanted.map(argument => [argument.name, 'text']))
    await client.getPrompt({ name, arguments: given }).catch(told)
  }
}
