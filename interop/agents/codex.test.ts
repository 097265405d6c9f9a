import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { program, SDK_SERVER } from '../../packages/quartermaster/test/support/upstream-fixture.ts'
import { type RunningProduct, startProduct, startWithUpstreams } from '../support/running-product.ts'
import { onceOffered, type Script, type ScriptedModel, stepByStep } from '../support/script.ts'
import { startScriptedResponses } from '../support/scripted-responses.ts'
import { codexWorkplace, connectCodex, runCodex } from './codex.ts'
import type { Workplace } from './workplace.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))

describe('Codex', () => {
  let product: RunningProduct

  beforeAll(async () => {
    product = await startProduct(DESK)
  })
  afterAll(() => product?.stop())

  it('calls a tool over HTTP and sees a failure as one', async () => {
    const { token } = await product.issue('clerk')
    const { workplace, model } = await setUp(
      stepByStep({ tool: 'mcp__desk.add', input: { a: 20, b: 22 } }, { tool: 'mcp__desk.refuse', input: {} }),
    )
    await connectCodex(workplace, product.mcpUrl)
    expect(await runCodex(workplace.with({ DESK_TOKEN: token }))).toEqual([
      { server: 'desk', tool: 'add', status: 'completed', result: expect.stringContaining('42') },
      { server: 'desk', tool: 'refuse', status: 'failed', result: expect.stringContaining('The desk is closed.') },
    ])
    expect(model.turns.at(-1)?.outputs[0]).toContain('42')
  })

  it('calls a tool through the command that connect prints', async () => {
    const { stdout } = await product.run('connect', '--print', 'codex', '--agent', 'clerk')
    // Codex does not wait long for a program to start; its tools come while it works.
    const meanwhile = { tool: 'list_mcp_resources', input: {} }
    const { workplace, model } = await setUp(
      onceOffered({ tool: 'mcp__quartermaster_clerk.add', input: { a: 20, b: 22 } }, meanwhile),
    )
    expect(await workplace.type(stdout)).toMatchObject({ code: 0 })
    const calls = (await runCodex(workplace)).filter(({ server }) => server === 'quartermaster-clerk')
    expect(calls).toMatchObject([{ tool: 'add', status: 'completed' }])
    expect(model.turns.at(-1)?.outputs.at(-1)).toContain('42')
  })

  it('is refused once its token is taken back', async () => {
    const { id, token } = await product.issue('clerk')
    await product.run('tokens', 'revoke', id)
    const { workplace, model } = await setUp(stepByStep())
    await connectCodex(workplace, product.mcpUrl)
    await runCodex(workplace.with({ DESK_TOKEN: token }))
    expect(model.turns[0]?.tools.filter(name => name.startsWith('mcp__desk'))).toEqual([])
  })
})

describe('Codex, with a server that someone else wrote behind the gateway', () => {
  it('calls a tool of that server', async () => {
    const product = await startWithUpstreams({ office: program(SDK_SERVER) })
    onTestFinished(product.stop)
    await product.reaches('office')
    const { token } = await product.issue('default')
    const { workplace } = await setUp(stepByStep({ tool: 'mcp__desk.office_add', input: { a: 20, b: 22 } }))
    await connectCodex(workplace, product.mcpUrl)
    expect(await runCodex(workplace.with({ DESK_TOKEN: token }))).toEqual([
      { server: 'desk', tool: 'office_add', status: 'completed', result: expect.stringContaining('42') },
    ])
  })
})

async function setUp(script: Script): Promise<{ workplace: Workplace; model: ScriptedModel }> {
  const model = await startScriptedResponses(script)
  const workplace = await codexWorkplace(model.url)
  onTestFinished(async () => {
    await model.stop()
    await workplace.clear()
  })
  return { workplace, model }
}
