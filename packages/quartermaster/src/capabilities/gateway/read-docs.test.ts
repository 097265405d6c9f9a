import { describe, expect, it } from 'vitest'
import { createDocs, ownerReader } from '../../core/knowledge/index.ts'
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
    .session(agent)
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
        '10 entries:',
        '- capability:office (capability): Office',
        '- capability:outdoors (capability): Outdoors',
        '- tool:send_mail (tool): Send mail',
        '- tool:read_report (tool): Read report',
        '- tool:get_weather (tool): Get weather',
        '- tool:find_tools (tool): Find tools',
        '- tool:describe_tool (tool): Describe a tool',
        '- tool:call_tool (tool): Call a tool',
        '- tool:read_docs (tool): Read the docs',
        '- tool:get_status (tool): Get the status of tools',
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

  it('names the tools that the agent has, and no others of a capability or of what a unit speaks of', async () => {
    const { hub } = await office({
      'knowledge/mail.md': {
        written: [
          { path: 'post', front: { ...HEAD, title: 'Post', tools: ['send_mail', 'get_weather'] }, body: 'Stamps.' },
        ],
      },
    })
    const seen = { query: 'office', depth: 'summary' }
    expect(await textOf(hub, 'ada', 'read_docs', seen)).toContain('Tools: send_mail, read_report')
    expect(await textOf(hub, 'pat', 'read_docs', seen)).toContain('Tools: read_report')
    for (const input of [seen, { path: 'office' }, { path: 'post' }, { path: 'post', depth: 'summary' }])
      expect(await textOf(hub, 'pat', 'read_docs', input)).not.toContain('send_mail')
    expect(await textOf(hub, 'bob', 'read_docs', { path: 'post' })).toContain('- Tools: `get_weather`\n')
    expect((await hub.callAs('bob', 'read_docs', { query: 'send_mail' })).result.isError).toBe(true)
  })

  it('has a page for each tool of the view itself, for those who have it', async () => {
    const { hub, read } = await team()
    expect(await read('ada', { path: 'read_docs' })).toContain('# Read the docs (`read_docs`)')
    expect(await read('eve', { path: 'read_docs' })).toContain('# Read the docs (`read_docs`)')
    await expect(hub.callAs('eve', 'read_docs', { path: 'find_tools' })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  })

  it('shows tools that are held back with the reason, and how many of a capability are', async () => {
    const held = (name: string, reason: string) => ({ name, reason })
    const far = simpleCapability('far', [], {
      withheld: [held('fly', 'It waits for review.'), held('dive', 'It is wet.')],
    })
    const near = simpleCapability('near', [simpleTool('walk')], { withheld: [held('run', 'It waits for review.')] })
    const other = simpleCapability('other', [], { withheld: [held('walk', 'It is lame.')] })
    const hub = await createHub({
      units: { gateway: builtinUnit(gateway), 'main.ts': { capabilities: [far, near, other] } },
      agents: {
        ada: { capabilities: { far: {}, near: {} }, view: 'gateway' },
        bob: { capabilities: { far: { tools: ['fly'] }, near: { tools: ['walk'] } }, view: 'gateway' },
      },
    })
    const lines = async (agent: string) => (await textOf(hub, agent, 'read_docs')).split('\n').slice(1, -5)
    expect(await lines('ada')).toEqual([
      '- capability:far (capability): Far [disabled: None of its 2 tools is offered now: the page of each says why.]',
      '- capability:near (capability): Near [1 of its 2 tools is not offered now: It waits for review.]',
      '- tool:walk (tool): Walk',
      '- tool:fly (tool): fly [disabled: It waits for review.]',
      '- tool:dive (tool): dive [disabled: It is wet.]',
      '- tool:run (tool): run [disabled: It waits for review.]',
    ])
    expect(await lines('bob')).toEqual([
      '- capability:far (capability): Far [disabled: Its one tool is not offered now: It waits for review.]',
      '- capability:near (capability): Near',
      '- tool:walk (tool): Walk',
      '- tool:fly (tool): fly [disabled: It waits for review.]',
    ])
    // That one of the same name is held back from it says nothing about what others have.
    await hub.setAgents({ eve: { capabilities: { other: {} }, view: 'gateway' } })
    expect(await lines('eve')).toEqual([
      '- capability:other (capability): Other [disabled: Its one tool is not offered now: It is lame.]',
    ])
    await hub.setAgents({ ada: { capabilities: { far: {}, near: {} }, view: 'gateway' } })
    expect(await textOf(hub, 'ada', 'read_docs', { path: 'fly' })).toContain('State: disabled. It waits for review.')
    const owner = await hub.docs.answer({}, { generation: hub.catalogue.current(), reader: ownerReader(hub.health) })
    expect(owner.entries.find(({ path }) => path === 'capability:far')).toMatchObject({ state: 'disabled' })
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

  it('says the facts of a unit below the title that its text has', async () => {
    const front = { ...MAIL_ALL.front, whenToUse: 'When all\nhave to know.' }
    const { read } = await team({ written: [{ ...MAIL_ALL, front, body: '# To all\n\nWrite it.' }] })
    expect(await read('ada', { path: 'guides/mail-all' })).toMatch(
      /^# To all\n\nTells everybody something\.\n\n- When to use it: When all have to know\.\n- Command: [^]*\n\nWrite it\./,
    )
  })

  it('takes the exact path, another name or a file for what it names, before all that fits', async () => {
    const { read } = await team()
    const page = await read('ada', { path: 'guides/releasing' })
    for (const path of ['guides/releasing.md', './guides/releasing', 'Ship It', 'guides/releasing/'])
      expect(await read('ada', { path })).toBe(page)
    for (const path of ['mail-all', '/mail-all'])
      expect(await read('ada', { path })).toBe(await read('ada', { path: 'guides/mail-all' }))
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

  it('opens what is at a path, and not what others also call so, and says of a folder how to read it', async () => {
    const other = {
      path: 'other',
      front: { ...HEAD, title: 'A\n- `b`: B', aliases: ['people'], parents: ['people'] },
      body: 'O.',
    }
    const { read } = await team({ written: [RELEASING, PEOPLE, other] })
    const page = await read('ada', { path: 'people' })
    expect(page).not.toContain('O.')
    expect(page).toContain('- `other`: A - `b`: B')
    await expect(read('ada', { path: 'guides' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('Ask with scope "guides".'),
    })
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

  it('reads many long pages one after the other, makes none that is not shown, and lets others have their turn', async () => {
    const many = Array.from({ length: 60 }, (_, i) => ({
      path: `many/n${String(i).padStart(2, '0')}`,
      front: { ...HEAD, title: `N${i}` },
      body: `${i}:${'x'.repeat(30_000)}`,
    }))
    const { hub } = await team({ written: many })
    let now = 0
    let turns = 0
    // Each look at the clock is a long time after the one before, so there is a turn after every page.
    const docs = createDocs({ now: () => (now += 100), breathe: async () => void turns++ })
    const asking = { generation: hub.catalogue.current(), reader: ownerReader(hub.health) }
    const question = { scope: 'many', depth: 'full', limit: 1_000 } as const
    let whole = ''
    let last = await docs.answer(question, asking)
    expect(turns).toBe(1)
    expect(last).toMatchObject({ total: 60, nextCursor: 'many/n49', nextOffset: 40_000 })
    while (last.nextOffset !== undefined) {
      whole += last.text
      last = await docs.answer({ ...question, offset: last.nextOffset }, asking)
    }
    whole += last.text
    expect(whole.split('\n---\n\n').map(page => Number(/^(\d+):x{30000}$/m.exec(page)?.[1]))).toEqual(
      many.slice(0, 50).map((_, i) => i),
    )
  })

  it('says so where a text ends before the offset, and takes no offset or unknown cursor for a list', async () => {
    const { hub } = await team()
    const asked = (input: object) => hub.callAs('ada', 'read_docs', input)
    await expect(asked({ path: 'people', offset: 5_000 })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/has \d+ characters, and none from offset 5000 on/),
    })
    await expect(asked({ offset: 5 })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    await expect(asked({ cursor: 'nobody' })).rejects.toMatchObject({ code: 'CURSOR_GONE' })
    await expect(asked({ path: 'people', kind: 'tool' })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: expect.stringContaining('"people" is people (concept)'),
    })
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
