import { describe, expect, it } from 'vitest'
import { isAppError } from '../../contracts/index.ts'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, DOWN, failureOf, simpleCapability, simpleTool } from '../../testing/hub.ts'
import gateway from './index.ts'
import { type Found, office, structured, textOf } from './testing/office.ts'

describe('describe_tool', () => {
  it('gives all that is needed to call a tool', async () => {
    const { hub } = await office()
    const { tools } = await structured<{ tools: object[] }>(hub, 'ada', 'describe_tool', { name: 'send_mail' })
    expect(tools).toEqual([
      {
        name: 'send_mail',
        title: 'Send mail',
        short: 'Sends a mail to somebody.',
        whenToUse: 'When something has to be told. It does not read the inbox.',
        section: 'office',
        capability: 'office',
        state: 'active',
        inputSchema: expect.objectContaining({ required: ['to'] }),
        outputSchema: expect.objectContaining({ required: ['sentTo'] }),
        examples: [{ query: 'tell Ada that I am late', input: { to: 'ada' } }],
        mutates: true,
        idempotent: false,
        retry: 'manual',
        consent: [],
        timeoutMs: 30_000,
        maxResultBytes: 262_144,
      },
    ])
  })

  it('describes up to ten at once', async () => {
    const { hub } = await office()
    const wanted = ['get_weather', 'send_mail', 'get_weather']
    const { tools } = await structured<Found>(hub, 'ada', 'describe_tool', { names: wanted })
    expect(tools.map(tool => tool.name)).toEqual(['get_weather', 'send_mail'])
    for (const input of [{}, { name: 'a', names: ['b'] }, { names: Array.from({ length: 11 }, () => 'a') }])
      await expect(hub.callAs('ada', 'describe_tool', input)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('suggests names for the first few that are wrong', async () => {
    const { hub } = await office()
    const error = await failureOf(hub.callAs('ada', 'describe_tool', { names: [1, 2, 3, 4].map(n => `send_mai${n}`) }))
    expect((error as Error).message.match(/Did you mean "send_mail"/g)).toHaveLength(3)
  })

  it('refuses a flood of names in few words', async () => {
    const { hub } = await office()
    const error = await failureOf(hub.callAs('ada', 'describe_tool', { names: Array(99_000).fill(7) }))
    expect(error).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path: ['names'] }] } })
    expect(JSON.stringify(error).length).toBeLessThan(5_000)
  })

  it('knows nothing of a tool that is not granted, and suggests the closest that is', async () => {
    const { hub } = await office()
    const message = async (agent: string, name: string) => {
      const error = await failureOf(hub.callAs(agent, 'describe_tool', { name }))
      return isAppError(error) && error.code === 'TOOL_NOT_FOUND' ? error.message : ''
    }
    expect(await message('ada', 'send_mial')).toContain('Did you mean "send_mail"?')
    expect(await message('bob', 'send_mail')).toBe((await message('bob', 'xend_mail')).replace('xend', 'send'))
  })
})

describe('get_status', () => {
  it('tells what does not work, why, and when it may be checked again', async () => {
    const { hub, smtp } = await office()
    expect(await structured(hub, 'ada', 'get_status')).toEqual({ active: 3, disabled: 0, tools: [] })
    smtp.verdict = DOWN
    hub.health.reportFailure('smtp', 'connection refused')
    expect(await structured(hub, 'ada', 'get_status')).toMatchObject({
      active: 3,
      tools: [{ name: 'send_mail', state: 'active', reason: expect.stringContaining('A call waits for it.') }],
    })
    await hub.clock.advance(11_000)
    await hub.health.recheck('smtp', { force: true })
    expect(await structured(hub, 'ada', 'get_status')).toMatchObject({
      active: 2,
      disabled: 1,
      tools: [
        {
          name: 'send_mail',
          state: 'disabled',
          missing: [{ dependency: 'smtp', state: 'down', reason: 'connection refused' }],
          nextRecheckAt: expect.any(Number),
        },
      ],
    })
    expect(await textOf(hub, 'ada', 'get_status')).toMatch(
      /2 active, 1 disabled\.\n- send_mail: disabled\. smtp is down/,
    )
  })

  it('tells about one tool, and nothing about tools of others', async () => {
    const { hub, smtp } = await office()
    smtp.verdict = DOWN
    hub.health.reportFailure('smtp', 'connection refused')
    await hub.clock.advance(11_000)
    expect(await structured(hub, 'ada', 'get_status', { name: 'read_report' })).toMatchObject({
      active: 1,
      tools: [{ name: 'read_report', state: 'active', missing: [] }],
    })
    expect(await structured(hub, 'bob', 'get_status')).toEqual({ active: 1, disabled: 0, tools: [] })
    await expect(hub.callAs('bob', 'get_status', { name: 'send_mail' })).rejects.toMatchObject({
      code: 'TOOL_NOT_FOUND',
    })
  })

  it('tells what was meant to be there and is withheld', async () => {
    const hub = await createHub({
      units: {
        gateway: builtinUnit(gateway),
        half: {
          capabilities: [simpleCapability('half', [simpleTool('good'), simpleTool('bad', { requires: ['no'] })])],
        },
      },
      agents: { ada: { capabilities: { half: {} }, view: 'gateway' } },
    })
    expect(await structured(hub, 'ada', 'get_status')).toMatchObject({
      active: 1,
      withheld: [{ tool: 'bad', capability: 'half', reason: expect.stringContaining('definition is wrong') }],
    })
  })
})
