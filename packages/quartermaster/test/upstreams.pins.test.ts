import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ResolutionEntry } from '../src/contracts/index.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { definition, listing, openListingDesk, PATIENT, watchingClient } from './support/listing-desk.ts'
import { ILL_SERVER, onDesk, openDesk, program, textOf, type UpstreamDesk } from './support/upstream-desk.ts'

const LONG = { timeout: 90_000 }

interface Check {
  ok: boolean
  report: ResolutionEntry[]
  problems: { message: string }[]
}

const check = async (desk: UpstreamDesk, agent: string) =>
  (await desk.run('agents', 'check', agent, '--json')).json<Check>()

describe('the tools of a server whose program is gone', LONG, () => {
  it('are known by what was seen last, listed as disabled with the reason, and lists of them are checked', async () => {
    const first = await openListingDesk([definition('note'), definition('draft')])
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
    const desk = await onDesk(first.dir)

    const tools = async () =>
      (await desk.run('tools', '--json')).json<{ name: string; state: string; missing?: { reason: string }[] }[]>()
    const down = (name: string) => ({
      name,
      state: 'disabled',
      missing: [expect.objectContaining({ reason: expect.stringContaining('no-such-program-here') })],
    })
    await expect
      .poll(async () => (await tools()).filter(({ name }) => name.startsWith('desk_')), PATIENT)
      .toMatchObject([down('desk_draft'), down('desk_note')])
    expect((await desk.run('capabilities', 'desk', '--json')).json()).toMatchObject({
      tools: [
        { name: 'draft', calledAs: 'desk_draft' },
        { name: 'note', calledAs: 'desk_note' },
      ],
    })
    expect(await check(desk, 'narrow')).toMatchObject({
      ok: true,
      report: [{ tool: 'note', state: 'unavailable', reason: expect.stringContaining('no-such-program-here') }],
    })
    expect((await check(desk, 'wrong')).problems[0]?.message).toContain('Did you mean "note"?')
    expect((await check(desk, 'prefixed')).problems[0]?.message).toContain('as its server calls it: "note"')
  })
})

describe('a list of tools of a server that nobody has seen yet', LONG, () => {
  it('is unverified, not wrong, and counts as soon as the server is seen', async () => {
    const file = join(await freshFolder(), 'repaired')
    const desk = await openDesk({
      mcpServers: { late: program(ILL_SERVER, `--needs=${file}`) },
      agents: { default: { capabilities: { late: { tools: ['echo', 'ecko'] } } } },
    })
    const { client, seen } = await watchingClient(desk)
    expect(await check(desk, 'default')).toMatchObject({
      ok: true,
      problems: [],
      report: ['echo', 'ecko'].map(tool => ({
        tool,
        state: 'unavailable',
        reason: expect.stringContaining('not been reached'),
      })),
    })
    await writeFile(join(desk.dir, 'agents/default.json'), '{ "capabilities": { "late": { "tools": ["echo"] } } }')
    await desk.run('reload')
    await writeFile(file, '')
    await expect.poll(() => seen.changes, PATIENT).toBeGreaterThan(0)
    await expect
      .poll(async () => (await client.listTools()).tools.map(({ name }) => name), PATIENT)
      .toEqual(['late_echo'])
    expect(await textOf(client, 'late_echo', { text: 'hi' })).toBe('hi')
    expect(await check(desk, 'default')).toMatchObject({ ok: true, report: [{ tool: 'echo', state: 'granted' }] })
  })
})

describe('an upstream that was removed', LONG, () => {
  it('is forgotten: added again, it is met for the first time', async () => {
    const desk = await openListingDesk([definition('note')])
    await desk.say(definition('note', { description: 'Another.' }), definition('late'))
    await expect.poll(desk.review, PATIENT).toHaveLength(2)
    expect((await desk.run('remove', 'desk')).code).toBe(0)
    expect(await desk.review()).toEqual([])
    const { command, args } = (await listing([definition('note', { description: 'Another.' }), definition('late')]))
      .entry
    expect((await desk.run('add', 'desk', '--json', '--', command, ...args)).json()).toMatchObject({
      status: { state: 'up', tools: { offered: 2, held: 0 } },
    })
    const { names } = await watchingClient(desk)
    await expect.poll(names, PATIENT).toEqual(['desk_late', 'desk_note'])
    expect(await desk.review()).toEqual([])
  })
})
