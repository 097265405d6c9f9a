import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { quartermaster } from '../../packages/quartermaster/test/support/product.ts'
import { type RunningProduct, startWithAgents } from '../support/running-product.ts'
import type { Script } from '../support/script.ts'
import { startScriptedMessages } from '../support/scripted-messages.ts'
import { claudeWorkplace } from './claude-code.ts'

/** A server on which the laptop has a workspace. */
interface Place {
  readonly product: RunningProduct
  readonly token: string
  say(text: string): Promise<void>
  chat(): Promise<string>
}

async function openPlace(): Promise<Place> {
  const product = await startWithAgents(['ops'], { inbox: {} })
  const { id } = await product.control.createWorkspace({ name: 'laptop' })
  const { token } = await product.control.createToken({ agent: 'laptop' })
  const person = await product.run('tokens', 'create', '--person', 'eve')
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${person.stdout.trim()}`, 'content-type': 'application/json' }
    const sent = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    const answer = await fetch(`${product.url}/api/v1/workspaces/${id}/${path}`, { headers, ...sent })
    return answer.text()
  }
  return { product, token, say: async text => void (await ask('messages', { text })), chat: () => ask('chat') }
}

/** Answers two messages, each with what it says and where it came from. */
function answerTwo(): Script {
  const answered = new Set<string>()
  return ({ tools, outputs }) => {
    const offered = (name: string) => tools.find(tool => tool.endsWith(name)) ?? ''
    const last = (outputs.at(-1) ?? '').replaceAll('\\', '')
    const id = /msg_[\w-]+_in/.exec(last)?.[0]
    if (id !== undefined && !answered.has(id)) {
      answered.add(id)
      const [, asked] = /How is (\w+)/.exec(last) ?? []
      return { tool: offered('reply'), input: { activity_id: id, message: `All is well with ${asked}.` } }
    }
    return answered.size < 2 ? { tool: offered('wait_for_message'), input: { timeout_secs: 30 } } : undefined
  }
}

let company: Place
let personal: Place

beforeAll(async () => {
  ;[company, personal] = await Promise.all([openPlace(), openPlace()])
})
afterAll(() => Promise.all([company, personal].map(place => place?.product.stop())))

it('Claude Code answers messages of two workspaces, each where it came from', async () => {
  const model = await startScriptedMessages(answerTwo())
  const workplace = await claudeWorkplace(model.url)
  onTestFinished(async () => {
    await model.stop()
    await workplace.clear()
  })
  const file = join(workplace.home, 'workspaces.json')
  const entries = [
    { name: 'company', url: company.product.url, token: company.token },
    { name: 'personal', url: personal.product.url, token: personal.token },
  ]
  await writeFile(file, JSON.stringify(entries))
  const printed = await printLine(file)
  expect(await workplace.type(printed)).toMatchObject({ code: 0 })
  await company.say('How is work?')
  await personal.say('How is home?')
  const flags = '--tools "" --allowedTools "mcp__quartermaster__*" --max-turns 8'
  expect(await workplace.type(`claude -p "Go on." ${flags}`)).toMatchObject({ code: 0 })
  expect(await company.chat()).toContain('All is well with work.')
  expect(await personal.chat()).toContain('All is well with home.')
})

/** The line for Claude Code, as the command prints it for the person. */
async function printLine(file: string): Promise<string> {
  const env = { QUARTERMASTER_WORKSPACES_FILE: file }
  const { stdout } = await quartermaster(['connect', '--print', 'claude'], { cwd: company.product.folder, env })
  return stdout
}
