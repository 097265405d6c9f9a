import { describe, expect, it } from 'vitest'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, DOWN, fakeService, simpleCapability, simpleTool, UP } from '../../testing/hub.ts'
import gateway from './index.ts'
import { found, names as foundNames, office, textOf } from './testing/office.ts'

const HEAD = { kind: 'concept', tools: [], parents: [], tags: [], aliases: [], seeAlso: [] }

const RELEASING = {
  path: 'guides/releasing',
  front: {
    kind: 'workflow',
    title: 'Releasing',
    summary: 'How a version goes out.',
    aliases: ['ship it'],
    seeAlso: ['people'],
  },
  body: 'Tag it, then tell everybody.\n\n{{include: people}}\n\n```\n{{include: people}}\n```',
}
const PEOPLE = { path: 'people', front: { ...HEAD, title: 'People' }, body: 'Ada decides about zeppelins.' }
const MAIL_ALL = {
  path: 'guides/mail-all',
  front: {
    kind: 'directions',
    title: 'Mail everybody',
    summary: 'Tells everybody something.',
    whenToUse: 'When all have to know.',
    command: 'mail-all',
    tools: ['send_mail'],
  },
  body: 'Write it, then send it.',
}

/** A team that wrote something down: ada has mail and the gateway, eve has mail and sees her tools, bob has none. */
async function team({ written = [RELEASING, PEOPLE, MAIL_ALL] as readonly object[] } = {}) {
  const smtp = fakeService('smtp', UP)
  const send = simpleTool('send_mail', { short: 'Sends a mail.', requires: ['smtp'] })
  const clock = simpleTool('tell_time', { short: 'Tells the time.' })
  const hub = await createHub({
    units: {
      gateway: builtinUnit(gateway),
      office: { capabilities: [simpleCapability('mail', [send])], dependencies: [smtp.dependency] },
      hall: { capabilities: [simpleCapability('hall', [clock])] },
      'knowledge/all.md': { written: written as never },
    },
    agents: {
      ada: { capabilities: { mail: {}, hall: {} }, view: 'gateway' },
      bob: { capabilities: { hall: {} }, view: 'gateway' },
      eve: { capabilities: { mail: {}, hall: {} } },
    },
  })
  const read = (agent: string, input: object = {}) => textOf(hub, agent, 'read_docs', input)
  return { hub, smtp, read }
}

const presentedTo = (hub: Awaited<ReturnType<typeof team>>['hub'], agent: string) =>
  hub.agents
    .seat(agent)
    .view()
    .presented.map(({ tool }) => tool.name)

describe('read_docs', () => {
  it('has a page for each tool, by its name, by its path, by question, and lists all there is', async () => {
    const { hub } = await office()
    const read = (input: object = {}) => textOf(hub, 'ada', 'read_docs', input)
    expect(await read({ path: 'send_mail' })).toContain('# Send mail (`send_mail`)')
    expect(await read({ path: 'tool:send_mail' })).toBe(await read({ path: 'send_mail' }))
    expect(await read({ query: 'weather', depth: 'full' })).toContain('# Get weather')
    expect(await read()).toBe(
      [
        '5 entries:',
        '- capability:office (capability): Office',
        '- capability:outdoors (capability): Outdoors',
        '- tool:send_mail (tool): Send mail',
        '- tool:read_report (tool): Read report',
        '- tool:get_weather (tool): Get weather',
      ].join('\n'),
    )
  })

  it('opens no page of a tool or capability that is not granted, and does not say that there is one', async () => {
    const { hub } = await office()
    for (const path of ['send_mail', 'tool:send_mail', 'capability:office', 'office'])
      await expect(hub.callAs('bob', 'read_docs', { path })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
    await expect(hub.callAs('bob', 'read_docs', { scope: 'capability:office' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.not.stringContaining('mail'),
    })
    expect((await hub.callAs('bob', 'read_docs', { query: 'mail' })).result.isError).toBe(true)
    expect(await textOf(hub, 'bob', 'read_docs')).not.toMatch(/mail|office/)
  })

  it('shows tools and capabilities with their state, and the reason', async () => {
    const { hub, smtp, read } = await team()
    smtp.verdict = DOWN
    await hub.health.recheck('smtp', { force: true })
    hub.health.reportFailure('smtp', 'connection refused')
    await hub.clock.advance(11_000)
    await hub.health.recheck('smtp', { force: true })
    const why = 'smtp is down: connection refused'
    expect(await read('ada', { scope: 'capability:mail' })).toBe(
      `2 entries:\n- capability:mail (capability): Mail [disabled: ${why}]\n- tool:send_mail (tool): Send mail [disabled: ${why}]`,
    )
    expect(await read('ada', { path: 'send_mail' })).toContain(`State: disabled. ${why}`)
    expect(await read('ada', { path: 'hall' })).toContain('State: active.')
  })

  it('reads a unit with what it includes, and says what else there is about it', async () => {
    const { read } = await team()
    const page = await read('ada', { path: 'guides/releasing' })
    expect(page).toContain(
      '# Releasing\n\nHow a version goes out.\n\nTag it, then tell everybody.\n\nAda decides about zeppelins.',
    )
    // In code it is an example of how to write one.
    expect(page).toContain('```\n{{include: people}}\n```')
    expect(page).toContain('See also:\n\n- `people`: People')
    expect(await read('ada', { path: 'people' })).toContain('Told of in:\n\n- `guides/releasing`: Releasing')
    expect(await read('ada', { path: 'send_mail' })).toContain('Told of in:\n\n- `guides/mail-all`: Mail everybody')
  })

  it('takes the exact path, another name or a file for what it names, before all that fits', async () => {
    const { read } = await team()
    const page = await read('ada', { path: 'guides/releasing' })
    for (const path of ['guides/releasing.md', './guides/releasing', 'Ship It'])
      expect(await read('ada', { path })).toBe(page)
    expect(await read('ada', { query: 'people' })).toMatch(/^- people /)
    expect(await read('ada', { query: 'who decides about zeppelins' })).toMatch(/^- people /)
    expect(await read('ada', { query: 'ship it', depth: 'index' })).toMatch(
      /^- guides\/releasing \(workflow\): Releasing/,
    )
  })

  it('looks below a path, for a kind, and as deep as it is told', async () => {
    const { read } = await team()
    const index = '- guides/mail-all (directions): Mail everybody'
    expect(await read('ada', { scope: 'guides' })).toBe(
      `2 entries:\n${index}\n- guides/releasing (workflow): Releasing`,
    )
    expect(await read('ada', { kind: 'directions' })).toBe(`1 entry:\n${index}`)
    expect(await read('ada', { kind: 'directions', depth: 'summary' })).toBe(
      `1 entry:\n${index}\n  Tells everybody something.\n  When to use it: When all have to know.\n  Command: /mail-all\n  Tools: send_mail`,
    )
    expect(await read('ada', { kind: 'directions', depth: 'full' })).toContain('Write it, then send it.')
    expect(await read('ada', { query: 'mail', kind: 'tool', depth: 'index' })).toBe(
      '- tool:send_mail (tool): Send mail',
    )
  })

  it('shows directions to whoever has all tools they name, and to nobody else', async () => {
    const { hub, read } = await team()
    expect(await read('bob')).not.toContain('mail')
    expect(await read('bob', { path: 'people' })).toContain('zeppelins')
    await expect(hub.callAs('bob', 'read_docs', { path: 'guides/mail-all' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
    })
  })

  it('comes beside the tools of an agent without the gateway view where the project has written something down', async () => {
    const { hub, read } = await team()
    expect(presentedTo(hub, 'eve')).toEqual(['send_mail', 'tell_time', 'read_docs'])
    expect(await read('eve', { path: 'people' })).toContain('zeppelins')
    const { hub: silent } = await team({ written: [] })
    expect(presentedTo(silent, 'eve')).toEqual(['send_mail', 'tell_time'])
    await expect(silent.callAs('eve', 'read_docs')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  })

  it('leaves what can be called to find_tools, and finds there nothing that can only be read', async () => {
    const { hub } = await team()
    expect(foundNames(await found(hub, 'ada', { query: 'zeppelins' }))).toEqual([])
    expect(foundNames(await found(hub, 'ada', { query: 'guides/mail-all' }))).toEqual(['send_mail'])
  })

  it('hides no tool behind a unit of the same name', async () => {
    const { read } = await team({
      written: [{ path: 'send_mail', front: { ...HEAD, title: 'Ours', aliases: ['tool:send_mail'] }, body: 'Unit.' }],
    })
    const both = await read('ada', { path: 'send_mail' })
    expect(both).toContain('# Ours')
    expect(both).toContain('# Send mail (`send_mail`)')
    expect(await read('ada', { path: 'tool:send_mail' })).toMatch(/^# Send mail \(`send_mail`\)/)
  })

  it('follows what is edited', async () => {
    const { hub, read } = await team()
    await read('ada', { query: 'zeppelins' })
    hub.write('knowledge/all.md', { written: [{ ...PEOPLE, body: 'Bob decides about balloons.' }] as never })
    await hub.catalogue.reload()
    expect(await read('ada', { query: 'balloons' })).toMatch(/^- people /)
    expect((await hub.callAs('ada', 'read_docs', { query: 'zeppelins' })).result.isError).toBe(true)
  })

  it('shows a long text page by page, and a long list', async () => {
    const long = { path: 'long', front: { ...HEAD, title: 'Long' }, body: `${'😀'.repeat(20_100)}end` }
    const many = Array.from({ length: 205 }, (_, i) => ({
      path: `many/n${String(i).padStart(3, '0')}`,
      front: { ...HEAD, title: `N${i}` },
      body: '',
    }))
    const { read } = await team({ written: [long, ...many] })
    const first = await read('ada', { path: 'long' })
    const [, offset = ''] = /offset (\d+)/.exec(first) ?? []
    expect(Number(offset)).toBeLessThanOrEqual(40_000)
    const second = await read('ada', { path: 'long', offset: Number(offset) })
    expect(`${first.split('\n\n[Cut')[0]}${second}`).toContain(long.body)
    const list = await read('ada', { scope: 'many' })
    expect(list).toMatch(/^205 entries:/)
    const [, cursor = ''] = /cursor "(.*)"/.exec(list) ?? []
    expect(await read('ada', { scope: 'many', cursor })).toMatch(
      /^205 entries:\n- many\/n200 .*\n(?:.*\n){3}- many\/n204 .*$/,
    )
  })

  it.each([
    ['both a path and a query', { path: 'people', query: 'people' }],
    ['a cursor with a query', { cursor: 'people', query: 'people' }],
    ['other arguments', { name: 'send_mail' }],
    ['a depth that is none', { depth: 'deep' }],
  ])('refuses %s', async (_what, input) => {
    const { hub } = await team()
    await expect(hub.callAs('ada', 'read_docs', input)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})
