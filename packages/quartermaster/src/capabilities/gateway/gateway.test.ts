import { describe, expect, it } from 'vitest'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool } from '../../testing/hub.ts'
import gateway from './index.ts'
import { found, names, office } from './testing/office.ts'

const FIVE = ['find_tools', 'describe_tool', 'call_tool', 'read_docs', 'get_status']

describe('the gateway view', () => {
  it('presents five tools in place of those an agent has, which it still can call by name', async () => {
    const { hub } = await office()
    const view = hub.agents.session('ada').view()
    expect(view.kind).toBe('gateway')
    expect(view.presented.map(({ tool }) => tool.name)).toEqual(FIVE)
    expect(view.tools.map(({ tool }) => tool.name)).toEqual(['send_mail', 'read_report', 'get_weather'])
    expect((await hub.callAs('ada', 'read_report')).result.content).toEqual([{ type: 'text', text: 'read_report' }])
  })

  it('is not there for an agent that sees its tools directly', async () => {
    const { hub } = await office()
    const view = hub.agents.session('eve').view()
    expect(view.kind).toBe('direct')
    expect(view.presented).toBe(view.tools)
    await expect(hub.callAs('eve', 'find_tools')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('comes by itself with more tools than the limit, counted whether they work or not', async () => {
    const down = fakeService('down', DOWN)
    const tools = ['a', 'b', 'c'].map(name => simpleTool(name, { requires: ['down'] }))
    const hub = await createHub({
      units: {
        gateway: builtinUnit(gateway),
        many: { capabilities: [simpleCapability('many', tools)], dependencies: [down.dependency] },
      },
      agents: {
        three: { capabilities: { many: {} } },
        two: { capabilities: { many: { tools: ['a', 'b'] } } },
        wilful: { capabilities: { many: {} }, view: 'direct' },
      },
      settings: { gatewayViewOver: 2 },
    })
    const kinds = ['three', 'two', 'wilful'].map(name => hub.agents.session(name).view().kind)
    expect(kinds).toEqual(['gateway', 'direct', 'direct'])
  })

  it('keeps its version while tools behind it come and go, and answers with what is true', async () => {
    const { hub, smtp } = await office()
    const before = { ada: hub.agents.session('ada').view().version, eve: hub.agents.session('eve').view().version }
    smtp.verdict = DOWN
    hub.health.reportFailure('smtp', 'connection refused')
    await hub.clock.advance(11_000)
    await hub.health.recheck('smtp', { force: true })
    expect(hub.agents.session('ada').view().version).toBe(before.ada)
    expect(hub.agents.session('eve').view().version).not.toBe(before.eve)
    const { tools } = await found(hub, 'ada', { query: 'send a mail' })
    expect(tools[0]).toMatchObject({ name: 'send_mail', state: 'disabled', reason: expect.stringContaining('smtp is') })
  })

  it('changes with the file of the agent, at once', async () => {
    const { hub } = await office()
    await hub.setAgents({ ada: { capabilities: { outdoors: {} }, view: 'direct' } })
    expect(
      hub.agents
        .session('ada')
        .view()
        .presented.map(({ tool }) => tool.name),
    ).toEqual(['get_weather'])
    await expect(hub.callAs('ada', 'find_tools')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('keeps its names, whatever a later source brings', async () => {
    const hub = await createHub({
      units: {
        gateway: builtinUnit(gateway),
        greedy: { capabilities: [simpleCapability('greedy', [simpleTool('find_tools'), simpleTool('mine')])] },
        impostor: { capabilities: [simpleCapability('gateway', [simpleTool('anything')])] },
      },
      agents: { ada: { capabilities: { greedy: { tools: ['mine'] } }, view: 'gateway' } },
    })
    expect(
      hub.agents
        .session('ada')
        .view()
        .presented.map(({ tool }) => tool.name),
    ).toEqual(FIVE)
    expect(names(await found(hub, 'ada', { query: 'mine' }))).toEqual(['mine'])
    expect(hub.catalogue.problems().map(({ subject }) => subject)).toEqual(['tool:find_tools', 'capability:gateway'])
  })

  it('is asked for as a view, not as a capability', async () => {
    const { hub } = await office()
    const [issue] = hub.agents.issuesWith('ada', { capabilities: { gateway: {} } })
    expect(issue).toMatchObject({ code: 'CAPABILITY_UNKNOWN', message: expect.stringContaining('"view": "gateway"') })
    expect(hub.registry.knownCapabilities().map(({ key }) => key)).toEqual(['office', 'outdoors'])
  })
})
