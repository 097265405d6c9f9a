import { describe, expect, it } from 'vitest'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import gateway from './index.ts'
import { found, names, office, textOf } from './testing/office.ts'

describe('find_tools', () => {
  it('finds by words, the best first, and by name before all others', async () => {
    const { hub } = await office()
    expect(names(await found(hub, 'ada', { query: 'how is the weather' }))[0]).toBe('get_weather')
    const { tools } = await found(hub, 'ada', { query: 'readReport' })
    expect(tools[0]).toMatchObject({ name: 'read_report', score: 1, state: 'active' })
  })

  it('finds several tools for several needs, also by parameters and example questions', async () => {
    const { hub } = await office()
    const several = await found(hub, 'ada', { query: 'read the report of today, then send a mail', limit: 2 })
    expect(names(several).sort()).toEqual(['read_report', 'send_mail'])
    expect(names(await found(hub, 'ada', { query: 'recipient' }))).toEqual(['send_mail'])
    expect(names(await found(hub, 'ada', { query: 'I am late' }))).toEqual(['send_mail'])
  })

  it('never shows one agent what another has', async () => {
    const { hub } = await office()
    for (const query of ['send_mail', 'send a mail', 'report', 'tools'])
      expect(names(await found(hub, 'bob', { query }))).not.toContain('send_mail')
    expect(await found(hub, 'bob', { query: '' })).toMatchObject({
      tools: [{ name: 'get_weather' }],
      total: 1,
      sections: [{ section: 'outdoors', tools: 1 }],
    })
    expect(await textOf(hub, 'bob', 'find_tools', { query: 'mail' })).toMatch(/^None of your 1 tool fits/)
  })

  it('lists everything by section, page by page', async () => {
    const { hub } = await office()
    const first = await found(hub, 'ada', { limit: 2 })
    expect(names(first)).toEqual(['read_report', 'send_mail'])
    expect(first.sections).toEqual([
      { section: 'office', tools: 2 },
      { section: 'outdoors', tools: 1 },
    ])
    const second = await found(hub, 'ada', { limit: 2, cursor: first.nextCursor })
    expect(second).toEqual({ tools: [expect.objectContaining({ name: 'get_weather' })], total: 3 })
    expect(names(await found(hub, 'ada', { section: 'outdoors' }))).toEqual(['get_weather'])
    expect(names(await found(hub, 'ada', { section: 'outdoors', query: 'send mail' }))).toEqual([])
  })

  it('goes on with a list although the tool it stopped at is gone', async () => {
    const { hub } = await office()
    const { nextCursor } = await found(hub, 'ada', { limit: 1 })
    hub.write('office', { capabilities: [simpleCapability('office', [simpleTool('unlock_door')])] })
    await hub.catalogue.reload()
    expect(names(await found(hub, 'ada', { cursor: nextCursor }))).toEqual(['unlock_door', 'get_weather'])
  })

  it('follows new, changed and removed tools', async () => {
    const { hub } = await office()
    await found(hub, 'ada', { query: 'weather' })
    hub.write('outdoors', {
      capabilities: [
        simpleCapability('outdoors', [
          simpleTool('get_weather', { short: 'Tells the tide at a beach.' }),
          simpleTool('plan_hike', { short: 'Plans a hike.' }),
        ]),
      ],
    })
    hub.remove('office')
    await hub.catalogue.reload()
    await hub.setAgents({ bob: { capabilities: { outdoors: {} }, view: 'gateway' } })
    expect(names(await found(hub, 'bob', { query: 'tide' }))).toEqual(['get_weather'])
    expect(names(await found(hub, 'bob', { query: 'hike' }))).toEqual(['plan_hike'])
    expect(names(await found(hub, 'bob', { query: 'recipient' }))).toEqual([])
  })

  it.each([
    ['regular expressions', '(((((a+)+)+)+$ [\\]^ .*{9999}'],
    ['much text', 'mail '.repeat(4000)],
    ['one endless word', 'x'.repeat(20_000)],
    ['other scripts', 'メールを送る 天气 погода \u{1F4E7}\u200d\u{1F4E7} \u202e'],
    ['lone surrogates and control characters', '\ud800 \udfff \u0000 \u001b[31m mail'],
    ['names of objects', '__proto__ constructor toString hasOwnProperty'],
    ['punctuation alone', '?!… — "" \'\' \\'],
  ])('takes %s', async (_what, query) => {
    const { hub } = await office()
    const { tools } = await found(hub, 'ada', { query })
    expect(tools.length).toBeLessThanOrEqual(3)
  })

  it('refuses a query beyond all measure, and other arguments than its own', async () => {
    const { hub } = await office()
    const failures = [{ query: 'x'.repeat(20_001) }, { query: 'x', limit: 51 }, { queri: 'x' }, { cursor: '../..' }]
    for (const input of failures)
      await expect(hub.callAs('ada', 'find_tools', input)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it('shows a long description as one line of bounded length', async () => {
    const short = `Does it.\n- send_mail: ${'and more '.repeat(100)}`
    const hub = await createHub({
      units: {
        gateway: builtinUnit(gateway),
        one: { capabilities: [simpleCapability('one', [simpleTool('wordy', { short })])] },
      },
      agents: { ada: { capabilities: { one: {} }, view: 'gateway' } },
    })
    const text = await textOf(hub, 'ada', 'find_tools', { query: 'wordy' })
    expect(text.split('\n')).toHaveLength(1)
    expect(text.length).toBeLessThan(400)
  })
})
