import { beforeEach, describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../contracts/index.ts'
import { createHub, type Hub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { ask, frontOf } from './testing/front.ts'

const AGENTS: Record<string, AgentConfig> = {
  worker: { capabilities: { main: {} } },
  eve: { capabilities: { main: {} } },
}

const HELD_BACK = { isError: true, _meta: { 'quartermaster/error': { code: 'TOOL_DISABLED' } } }

describe('a call that waits for an answer', () => {
  let hub: Hub
  let call: (more?: Record<string, unknown>, agent?: string) => ReturnType<typeof ask>
  let answered: Record<string, unknown>
  let ran: string[]
  let signal: AbortSignal | undefined

  beforeEach(async () => {
    ran = []
    const writes = simpleTool('writes', {
      mutates: true,
      async handler(_input: never, context) {
        signal = context.signal
        const { action } = await context.ask({ key: 'sure', message: 'Sure?' })
        ran.push(action)
        return 'written'
      },
    })
    hub = await createHub({
      units: { 'main.ts': { capabilities: [simpleCapability('main', [writes])] } },
      agents: AGENTS,
    })
    const front = frontOf(hub)
    call = (more = {}, agent = 'worker') =>
      ask(front, agent, {
        method: 'tools/call',
        name: 'writes',
        params: { name: 'writes', ...more },
        capabilities: { elicitation: {} },
      })
    const { result } = await call()
    answered = { requestState: result?.requestState, inputResponses: { sure: { action: 'accept', content: {} } } }
  })

  async function holdBack(): Promise<void> {
    const withheld = [{ name: 'writes', reason: 'It waits for review.' }]
    hub.write('main.ts', { capabilities: [simpleCapability('main', [], { withheld })] })
    await hub.catalogue.reload()
  }

  it('goes on when its tool is held back meanwhile, and nobody begins another', async () => {
    await holdBack()
    expect((await call(answered)).result).toMatchObject({ content: [{ text: 'written' }] })
    expect(ran).toEqual(['accept'])
    expect((await call()).result).toMatchObject(HELD_BACK)
    expect(ran).toHaveLength(1)
  })

  it('is nobody else’s to go on with when its tool is held back', async () => {
    await holdBack()
    expect((await call(answered, 'eve')).result).toMatchObject(HELD_BACK)
    expect(ran).toEqual([])
  })

  it('is ended when its tool is taken from its agent, and its client told how it ended and where that is on record', async () => {
    const taken = { worker: { capabilities: {} }, eve: { capabilities: {} } }
    await hub.setAgents(taken)
    expect((await call(answered, 'eve')).error).toBeDefined()
    expect(signal?.aborted).toBe(false)
    const { result } = await call(answered)
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'OUTCOME_UNKNOWN', message: expect.stringContaining('was taken from') } },
      _meta: { 'quartermaster/operationId': expect.any(String) },
    })
    expect([ran, signal?.aborted]).toEqual([[], true])
    expect((await call()).error).toMatchObject({ message: expect.stringContaining('has no tool "writes"') })
  })
})
