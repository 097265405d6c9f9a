import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningProduct, startWithAgents } from '../support/running-product.ts'
import type { Script, ScriptedModel, Step } from '../support/script.ts'
import { startScriptedMessages } from '../support/scripted-messages.ts'
import { startScriptedResponses } from '../support/scripted-responses.ts'
import { claudeWorkplace } from './claude-code.ts'
import { codexWorkplace } from './codex.ts'
import type { Workplace } from './workplace.ts'

/** An agent's program in a terminal of its own. */
interface Terminal {
  readonly agent: string
  readonly model: ScriptedModel
  /** As `connect --print` calls the program. */
  readonly client: string
  readonly workplace: Workplace
  /** What a person types to let it work. */
  readonly command: string
}

const PROGRAMS = { claude, codex }

describe('two agents in two terminals', () => {
  let product: RunningProduct

  beforeAll(async () => {
    product = await startWithAgents(['ada', 'bob'], { delegation: {}, inbox: {} })
  })
  afterAll(() => product?.stop())

  it.each([
    ['claude', 'codex'],
    ['codex', 'claude'],
  ] as const)('delegate to each other, with nothing but the lines of the guide: %s asks %s', async (asker, peer) => {
    const ada = await PROGRAMS[asker]('ada', askBob('How many files are in your folder?'))
    const bob = await PROGRAMS[peer]('bob', answerTheFirst('Three files.'))
    await connect(product, ada)
    await connect(product, bob)
    await Promise.all([work(bob), work(ada)])
    expect(everythingHeard(bob)).toContain('How many files are in your folder?')
    expect(everythingHeard(ada)).toMatch(/completed[^]*Three files\./)
  })
})

/** What an agent does next, by what its calls have answered so far. */
type Plan = (heard: readonly string[]) => Step | undefined

/** Looks for Bob and gives him a task, which answers with what came of it. */
function askBob(task: string): Plan {
  return ([peers, answer]) => {
    if (peers === undefined) return { tool: 'list_peers', input: {} }
    if (answer !== undefined) return undefined
    const bob = /(ws_[\w-]+)(?:","name":| )"bob"/.exec(peers)?.[1]
    return { tool: 'delegate_task', input: { workspace_id: bob, task } }
  }
}

/** Waits for a message, also after a wait in which none came, and answers it. */
function answerTheFirst(message: string): Plan {
  let isAnswered = false
  return heard => {
    if (isAnswered) return undefined
    const activity = /msg_[\w-]+/.exec(heard.at(-1) ?? '')?.[0]
    isAnswered = activity !== undefined
    return activity === undefined
      ? { tool: 'wait_for_message', input: { timeout_secs: 60 } }
      : { tool: 'reply', input: { activity_id: activity, message } }
  }
}

/** Codex does not wait long for a program to start; its tools come while it works. */
const MEANWHILE: Step = { tool: 'list_mcp_resources', input: {} }

/** Follows a plan by the names that a program offers tools under: it has its own way, with a tool's own name last. */
function following(plan: Plan): Script {
  const meanwhile = new Set<number>()
  let next: Step | undefined
  return ({ tools, outputs }) => {
    next ??= plan(outputs.filter((_, index) => !meanwhile.has(index)).map(plain))
    if (next === undefined) return undefined
    const { tool: name, input } = next
    const tool = tools.find(offered => offered.endsWith(name))
    if (tool === undefined) {
      meanwhile.add(outputs.length)
      return MEANWHILE
    }
    next = undefined
    return { tool, input }
  }
}

/** Some programs hand the model an answer's text, some its structure, and some quote it once more. */
const plain = (output: string) => output.replaceAll('\\', '')

/** Types what the guide says: the command that prints a line, and that line. */
async function connect(product: RunningProduct, { agent, client, workplace }: Terminal): Promise<void> {
  const { stdout } = await product.run('connect', '--agent', agent, '--print', client)
  expect(await workplace.type(stdout)).toMatchObject({ code: 0 })
}

async function work({ workplace, command }: Terminal): Promise<void> {
  expect(await workplace.type(command)).toMatchObject({ code: 0 })
}

const everythingHeard = ({ model }: Terminal) => (model.turns.at(-1)?.outputs ?? []).map(plain).join('\n')

async function claude(agent: string, plan: Plan): Promise<Terminal> {
  const model = await startScriptedMessages(following(plan))
  const workplace = await claudeWorkplace(model.url)
  const flags = `--tools "" --allowedTools "mcp__quartermaster-${agent}__*" --max-turns 8`
  return kept({ agent, model, workplace, client: 'claude', command: `claude -p "Go on." ${flags}` })
}

async function codex(agent: string, plan: Plan): Promise<Terminal> {
  const model = await startScriptedResponses(following(plan))
  const workplace = await codexWorkplace(model.url)
  // Left to itself, Codex asks its own user before it calls what may change something, and nobody sits in front of it.
  const flags = `-c 'mcp_servers.quartermaster-${agent}.default_tools_approval_mode="approve"'`
  return kept({
    agent,
    model,
    workplace,
    client: 'codex',
    command: `codex exec --skip-git-repo-check ${flags} "Go on."`,
  })
}

function kept(terminal: Terminal): Terminal {
  onTestFinished(async () => {
    await terminal.model.stop()
    await terminal.workplace.clear()
  })
  return terminal
}
