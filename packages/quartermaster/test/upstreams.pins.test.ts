import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ResolutionEntry } from '../src/contracts/index.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { definition, listing, openListingFixture, watchingClient } from './support/listing-fixture.ts'
import {
  ILL_SERVER,
  onFixture,
  openFixture,
  program,
  SDK_SERVER,
  textOf,
  type UpstreamFixture,
} from './support/upstream-fixture.ts'

interface Check {
  ok: boolean
  report: ResolutionEntry[]
  problems: { message: string }[]
}

const check = async (fixture: UpstreamFixture, agent: string) =>
  (await fixture.run('agents', 'check', agent, '--json')).json<Check>()

describe('the tools of a server whose program is gone', () => {
  it('are known by what was seen last, listed as disabled with the reason, and lists of them are checked', async () => {
    const first = await openListingFixture([definition('note'), definition('draft')])
    await first.up.stop()
    await writeFile(
      join(first.dir, 'quartermaster.config.json'),
      '{ "mcpServers": { "desk": { "command": "no-such-program-here" } }, "settings": { "recoveringSeconds": 1 } }',
    )
    await writeFile(join(first.dir, 'agents/narrow.json'), '{ "capabilities": { "desk": { "tools": ["note"] } } }')
    await writeFile(join(first.dir, 'agents/wrong.json'), '{ "capabilities": { "desk": { "tools": ["nots"] } } }')
    await writeFile(
      join(first.dir, 'agents/prefixed.json'),
      '{ "capabilities": { "desk": { "tools": ["desk_note"] } } }',
    )
    const fixture = await onFixture(first.dir)

    const tools = async () =>
      (await fixture.run('tools', '--json')).json<{ name: string; state: string; missing?: { reason: string }[] }[]>()
    const down = (name: string) => ({
      name,
      state: 'disabled',
      missing: [expect.objectContaining({ reason: expect.stringContaining('no-such-program-here') })],
    })
    await expect
      .poll(async () => (await tools()).filter(({ name }) => name.startsWith('desk_')))
      .toMatchObject([down('desk_draft'), down('desk_note')])
    expect((await fixture.run('capabilities', 'desk', '--json')).json()).toMatchObject({
      tools: [
        { name: 'draft', calledAs: 'desk_draft' },
        { name: 'note', calledAs: 'desk_note' },
      ],
    })
    expect(await check(fixture, 'narrow')).toMatchObject({
      ok: true,
      report: [{ tool: 'note', state: 'unavailable', reason: expect.stringContaining('no-such-program-here') }],
    })
    expect((await check(fixture, 'wrong')).problems[0]?.message).toContain('Did you mean "note"?')
    expect((await check(fixture, 'prefixed')).problems[0]?.message).toContain('as its server calls it: "note"')
  })
})

/** An `up` that had a server with tools, prompts and resources, and cannot start it any more. */
async function openWithout(recoveringSeconds: number) {
  const capabilities = { desk: {} }
  const agents = { ada: { capabilities }, finder: { capabilities, view: 'gateway' } }
  const first = await openFixture({ mcpServers: { desk: program(SDK_SERVER) }, agents })
  await expect.poll(async () => (await first.status('desk'))?.resources).toBe(2)
  await first.up.stop()
  const config = { mcpServers: { desk: { command: 'no-such-program-here' } }, settings: { recoveringSeconds } }
  await writeFile(join(first.dir, 'quartermaster.config.json'), JSON.stringify(config))
  return onFixture(first.dir)
}

describe('what a server had whose program is gone', () => {
  it('is listed from what was seen last while it may come back: tools, prompts, resources and templates', async () => {
    const fixture = await openWithout(600)
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('recovering')
    for (const era of ['auto', 'legacy'] as const) {
      const client = await fixture.connect(era, { agent: 'ada' })
      const [{ tools }, { prompts }, { resources }, { resourceTemplates }] = await Promise.all([
        client.listTools(),
        client.listPrompts(),
        client.listResources(),
        client.listResourceTemplates(),
      ])
      expect(tools).toContainEqual(expect.objectContaining({ name: 'desk_echo', description: 'Says the same.' }))
      expect(prompts).toContainEqual(expect.objectContaining({ name: 'desk_greet', description: 'A greeting.' }))
      expect(resources).toContainEqual(expect.objectContaining({ uri: 'desk://a', mimeType: 'text/plain' }))
      expect(resourceTemplates).toContainEqual(expect.objectContaining({ uriTemplate: 'desk://files/{+path}' }))
    }
  })

  it('is found and described when it is down, and a call says why it is unavailable', async () => {
    const fixture = await openWithout(0)
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('down')
    const finder = await fixture.connect('auto', { agent: 'finder' })
    const reason = expect.stringContaining('no-such-program-here')
    const ask = async (name: string, args: Record<string, unknown>) =>
      (await finder.callTool({ name, arguments: args })).structuredContent
    const found = { name: 'desk_echo', short: 'Says the same.', state: 'disabled', reason }
    expect(await ask('find_tools', { query: 'says the same', limit: 1 })).toMatchObject({ tools: [found] })
    const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    expect(await ask('describe_tool', { names: ['desk_echo'] })).toMatchObject({ tools: [{ ...found, inputSchema }] })

    const ada = await fixture.connect('auto', { agent: 'ada' })
    await expect(ada.getPrompt({ name: 'desk_greet', arguments: { who: 'Ada' } })).rejects.toThrow(
      'no-such-program-here',
    )
    for (const uri of ['desk://a', 'desk://files/b'])
      await expect(ada.readResource({ uri })).rejects.toThrow('no-such-program-here')
  })
})

describe('a list of tools of a server that has not been listed yet', () => {
  it('is unverified, not wrong, and counts as soon as the server is seen', async () => {
    const file = join(await freshFolder(), 'repaired')
    const fixture = await openFixture({
      mcpServers: { late: program(ILL_SERVER, `--needs=${file}`) },
      agents: { default: { capabilities: { late: { tools: ['echo', 'ecko'] } } } },
    })
    const { client, seen } = await watchingClient(fixture)
    expect(await check(fixture, 'default')).toMatchObject({
      ok: true,
      problems: [],
      report: ['echo', 'ecko'].map(tool => ({
        tool,
        state: 'unavailable',
        reason: expect.stringContaining('not been reached'),
      })),
    })
    await writeFile(join(fixture.dir, 'agents/default.json'), '{ "capabilities": { "late": { "tools": ["echo"] } } }')
    await fixture.run('reload')
    await writeFile(file, '')
    await expect.poll(() => seen.changes).toBeGreaterThan(0)
    await expect.poll(async () => (await client.listTools()).tools.map(({ name }) => name)).toEqual(['late_echo'])
    expect(await textOf(client, 'late_echo', { text: 'hi' })).toBe('hi')
    expect(await check(fixture, 'default')).toMatchObject({ ok: true, report: [{ tool: 'echo', state: 'granted' }] })
  })
})

describe('an upstream that was removed', () => {
  it('is forgotten: added again, it is met for the first time', async () => {
    const fixture = await openListingFixture([definition('note')])
    await fixture.say(definition('note', { description: 'Another.' }), definition('late'))
    await expect.poll(fixture.review).toHaveLength(2)
    expect((await fixture.run('remove', 'desk')).code).toBe(0)
    expect(await fixture.review()).toEqual([])
    const { command, args } = (await listing([definition('note', { description: 'Another.' }), definition('late')]))
      .entry
    expect((await fixture.run('add', 'desk', '--json', '--', command, ...args)).json()).toMatchObject({
      status: { state: 'up', tools: { offered: 2, held: 0 } },
    })
    const { names } = await watchingClient(fixture)
    await expect.poll(names).toEqual(['desk_late', 'desk_note'])
    expect(await fixture.review()).toEqual([])
  })
})
