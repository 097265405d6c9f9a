import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningProduct, startProduct } from '../support/running-product.ts'
import { stepByStep } from '../support/script.ts'
import { linesOf, runClaude, type Transcript, transcriptOf } from './claude-code.ts'
import { decide, decideOnceAsked, paidTo, payAndFollow } from './consent.ts'
import { scriptedClaude } from './scripted-claude.ts'
import type { Workplace } from './workplace.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))
const TOOLS = { pay: 'mcp__desk__pay', status: 'mcp__desk__get_status' }

/** Of two agents, Claude Code may answer for the teller; the cashier's calls are a person's to allow. */
type Agent = 'cashier' | 'teller'

const PAID = { isError: false, text: expect.stringContaining('has 500 cents more.') }
const DENIED = { isError: true, text: expect.stringContaining('CONSENT_DENIED') }

const ENDS = [
  ['allow', PAID, 1],
  ['deny', DENIED, 0],
] as const

describe('Claude Code, calling what a person has to allow', () => {
  let product: RunningProduct

  beforeAll(async () => {
    // Calls of the cashier are answered with a handle at once.
    product = await startProduct(DESK, { consentWaitSeconds: 0 })
  })
  afterAll(() => product?.stop())

  it.each([
    ['accept', { allow: true }, PAID, 1],
    ['accept', { allow: false }, DENIED, 0],
    ['decline', undefined, DENIED, 0],
  ] as const)('asks its user, who sees all of the call: %s %j', async (action, content, expected, times) => {
    const to = `${action}-${content?.allow}`
    const { workplace } = await scriptedClaude(stepByStep(paying(to)))
    const questions: string[] = []
    const { results } = await runClaude({
      workplace,
      server: await serverFor(product, 'teller'),
      onElicitation: async ({ message }) => {
        questions.push(message)
        return { action, ...(content ? { content } : {}) }
      },
    })
    expect(questions).toEqual([expect.stringMatching(/ledger\.pay \(moderate\): Pays from the till\.[^]*"cents": 500/)])
    expect(questions[0]).toContain(`"to": "${to}"`)
    expect(results).toEqual([expected])
    expect(await paidTo(product, to)).toHaveLength(times)
  })

  it.each([
    ['accept', PAID, 1],
    ['decline', DENIED, 0],
  ] as const)(
    'asks a hook of its user’s settings where nobody sits in front of it: %s',
    async (action, expected, times) => {
      const to = `hook-${action}`
      const { workplace } = await scriptedClaude(stepByStep(paying(to)))
      await writeHook(workplace, { action, content: { allow: true } })
      const { results } = await runAlone(workplace, await serverFor(product, 'teller'))
      expect(JSON.parse(await readFile(join(workplace.home, 'asked.json'), 'utf8'))).toMatchObject({
        mcp_server_name: 'desk',
        message: expect.stringContaining(`"to": "${to}"`),
      })
      expect(results).toEqual([expected])
      expect(await paidTo(product, to)).toHaveLength(times)
    },
  )

  it('closes the question where nobody sits in front of it and nothing answers, and a person decides elsewhere', async () => {
    const to = 'nobody here'
    const onWaiting = (operation: string) => decide(product, operation, 'allow')
    const { workplace, model } = await scriptedClaude(payAndFollow({ tools: TOOLS, to, onWaiting }))
    const { results } = await runAlone(workplace, await serverFor(product, 'teller'))
    expect(results[0]?.text).toContain('"status":"waiting"')
    expect(model.turns.at(-1)?.outputs.at(-1)).toContain('has 500 cents more.')
    expect(await paidTo(product, to)).toHaveLength(1)
  })

  it.each([
    ['allow', '"state":"succeeded"', 1],
    ['deny', '"state":"denied"', 0],
  ] as const)('is told that its call waits, and what became of it: %s', async (decision, end, times) => {
    const to = `later ${decision}`
    const before: string[][] = []
    const onWaiting = async (operation: string) => {
      before.push(await paidTo(product, to))
      await decide(product, operation, decision)
    }
    const { workplace, model } = await scriptedClaude(payAndFollow({ tools: TOOLS, to, onWaiting }))
    const { results } = await runClaude({ workplace, server: await serverFor(product, 'cashier') })
    expect(results[0]?.text).toMatch(/"status":"waiting".*Waiting for approval\. Tell your person/)
    expect(results.at(-1)?.text).toContain(end)
    expect(model.turns.at(-1)?.outputs.at(-1)).toContain(
      decision === 'allow' ? 'has 500 cents more.' : 'CONSENT_DENIED',
    )
    expect([before, await paidTo(product, to)]).toEqual([[[]], Array(times).fill(`${to} 500`)])
  })
})

describe('Claude Code, whose call waits for a person', () => {
  it.each(ENDS)('gets the end of it as the answer: %s', async (decision, expected, times) => {
    const product = await startProduct(DESK, { consentWaitSeconds: 600 })
    onTestFinished(product.stop)
    const { workplace } = await scriptedClaude(stepByStep(paying('Eve')))
    const running = runClaude({ workplace, server: await serverFor(product, 'cashier') })
    await decideOnceAsked(product, 'Eve', decision)
    expect((await running).results).toEqual([expected])
    expect(await paidTo(product, 'Eve')).toHaveLength(times)
  })
})

const paying = (to: string) => ({ tool: TOOLS.pay, input: { to, cents: 500 } })

interface Server {
  readonly url: string
  readonly token: string
}

async function serverFor(product: RunningProduct, agent: Agent): Promise<Server> {
  return { url: product.mcpUrl, token: (await product.issue(agent)).token }
}

/** A hook that keeps what it is asked and answers this. */
async function writeHook({ home }: Workplace, answer: object): Promise<void> {
  const output = JSON.stringify({ hookSpecificOutput: { hookEventName: 'Elicitation', ...answer } })
  await writeFile(join(home, 'hook.sh'), `cat > asked.json\necho '${output}'\n`)
  await mkdir(join(home, '.claude'), { recursive: true })
  const hooks = [{ type: 'command', command: `cd '${home}' && sh hook.sh` }]
  await writeFile(join(home, '.claude', 'settings.json'), JSON.stringify({ hooks: { Elicitation: [{ hooks }] } }))
}

/** Runs `claude -p`, with nobody in front of it. */
async function runAlone(workplace: Workplace, { url, token }: Server): Promise<Transcript> {
  const desk = { type: 'http', url, headers: { Authorization: `Bearer ${token}` } }
  await writeFile(join(workplace.home, 'mcp.json'), JSON.stringify({ mcpServers: { desk } }))
  const flags = '--mcp-config mcp.json --strict-mcp-config --tools "" --max-turns 60'
  const shown = '--allowedTools "mcp__desk__*" --output-format stream-json --verbose'
  const { output } = await workplace.type(`claude -p "Go on." ${flags} ${shown}`)
  return transcriptOf(linesOf(output))
}
