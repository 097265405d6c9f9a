import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type RunningProduct, startProduct } from '../support/running-product.ts'
import { startScriptedResponses } from '../support/scripted-responses.ts'
import { codexWorkplace, connectCodex, runCodex } from './codex.ts'
import { decide, paidTo, payAndFollow } from './consent.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))
const TOOLS = { pay: 'mcp__desk.pay', status: 'mcp__desk.get_status' }
/** Left to itself, Codex asks its own user before it calls what may change something, and nobody sits in front of it. */
const TRUSTING = `-c 'mcp_servers.desk.default_tools_approval_mode="approve"'`

describe('Codex, calling what a person has to allow', () => {
  let product: RunningProduct

  beforeAll(async () => {
    product = await startProduct(DESK, { consentWaitSeconds: 0 })
  })
  afterAll(() => product?.stop())

  it.each([
    ['allow', 'has 500 cents more.', 1],
    ['deny', 'CONSENT_DENIED', 0],
  ] as const)('is told that its call waits, and what became of it: %s', async (decision, end, times) => {
    const onWaiting = (operation: string) => decide(product, operation, decision)
    const model = await startScriptedResponses(payAndFollow({ tools: TOOLS, to: decision, onWaiting }))
    onTestFinished(model.stop)
    const workplace = await codexWorkplace(model.url)
    onTestFinished(workplace.clear)
    await connectCodex(workplace, product.mcpUrl)
    const { token } = await product.issue('cashier')
    const calls = await runCodex(workplace.with({ DESK_TOKEN: token }), TRUSTING)
    expect(calls[0]).toMatchObject({ tool: 'pay', status: 'completed', result: expect.stringContaining('waiting') })
    expect(model.turns[1]?.outputs[0]).toContain('Waiting for approval. Tell your person')
    expect(model.turns.at(-1)?.outputs.at(-1)).toContain(end)
    expect(await paidTo(product, decision)).toHaveLength(times)
  })
})
