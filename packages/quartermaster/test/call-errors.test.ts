import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { ERAS } from './support/bridge.ts'
import { ILL_SERVER, openFixture, program } from './support/upstream-fixture.ts'

const INPUT = {
  type: 'object',
  properties: {
    title: { type: 'string', minLength: 3 },
    times: { type: 'integer', minimum: 1 },
    mood: { type: 'string', enum: ['calm', 'loud'] },
    stops: { type: 'array', items: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
  },
  required: ['title'],
  additionalProperties: false,
}

/** The same in a library whose own words are others. */
const OWN = `
import { z } from '${import.meta.resolve('zod').replace('file://', '')}'
import { defineCapability, defineTool } from 'quartermaster'
const input = z.strictObject({
  title: z.string().min(3),
  times: z.int().min(1).optional(),
  mood: z.enum(['calm', 'loud']).optional(),
  stops: z.array(z.object({ city: z.string() })).optional(),
})
const sing = defineTool({
  name: 'sing', title: 'Sing', short: 'Sings.', input, mutates: false,
  handler: () => ({ content: [{ type: 'text', text: 'La.' }] }),
})
const checked = defineTool({
  name: 'check_song', title: 'Check', short: 'Checks a song.', mutates: false,
  input: z.strictObject({ title: z.string().min(3, 'Give the whole title.') })
    .refine(({ title }) => title !== 'none', 'This song does not exist.'),
  handler: () => ({ content: [{ type: 'text', text: 'Fine.' }] }),
})
export default defineCapability({ key: 'own', short: 'Songs.', tools: [sing, checked] })
`

const CAPABILITIES = { own: {}, far: {} }

async function openSongs() {
  const tool = (name: string, description: string) => ({
    name,
    description,
    inputSchema: INPUT,
    annotations: { readOnlyHint: true },
  })
  const far = [tool('old_sing', 'Sings a song aloud. DEPRECATED: use sing.'), tool('sing', 'Sings.')]
  return openFixture({
    mcpServers: { far: program(ILL_SERVER, '--definitions=tools.json') },
    agents: {
      direct: { capabilities: CAPABILITIES, view: 'direct' },
      gateway: { capabilities: CAPABILITIES, view: 'gateway' },
      other: { capabilities: { files: { dirs: ['.'] } }, view: 'gateway' },
      keeper: { capabilities: { registry: {} }, view: 'gateway' },
    },
    files: { 'tools.json': JSON.stringify(far), 'capabilities/own.ts': OWN },
    settings: { firstListWaitMs: 60_000 },
  })
}

type Wrong = readonly [input: Record<string, unknown>, says: string]
const WRONG: readonly Wrong[] = [
  [{}, 'title is missing (a string).'],
  [{ title: 5 }, 'title must be a string, not a number.'],
  [{ title: '' }, 'title must have at least 3 characters.'],
  [{ title: 'abc', times: 0 }, 'times must be at least 1.'],
  [{ title: 'abc', times: 1.5 }, 'times must be an integer, not a number.'],
  [{ title: 'abc', mood: 'laud' }, 'mood must be one of "calm" or "loud". Did you mean "loud"?'],
  [{ title: 'abc', stops: [{ city: 'Oslo' }, {}] }, 'stops.1.city is missing (a string).'],
  [{ title: 'abc', stops: 'Oslo' }, 'stops must be an array, not a string.'],
  [{ title: 'abc', tims: 1 }, 'tims is not a known property. Did you mean "times"?'],
  [{ times: '1' }, 'title is missing (a string). times must be an integer, not a string.'],
]

const answer = async (client: Client, name: string, args: Record<string, unknown>) => {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
  const { error } = structuredContent as { error: { code: string; retry: string; message: string } }
  return { text: (content as { text: string }[])[0]?.text, error, isError }
}

describe.each(ERAS)('wrong arguments, for a client of era %s', era => {
  it('have the same words for own tools and those of servers, in both views', async () => {
    const fixture = await openSongs()
    const direct = await fixture.connect(era, { agent: 'direct' })
    const gateway = await fixture.connect(era, { agent: 'gateway' })
    await direct.listTools()
    for (const tool of ['sing', 'far_sing'])
      for (const [input, says] of WRONG) {
        const told = await answer(direct, tool, input)
        expect(told).toMatchObject({ isError: true, error: { code: 'INPUT_INVALID', retry: 'never' } })
        expect(told.error.message).toBe(`The arguments of "${tool}" are wrong. ${says}`)
        const advice = says.includes('Did you') ? '' : ' Correct the arguments first; the same call fails again.'
        expect(told.text).toBe(`INPUT_INVALID: ${told.error.message}${advice}`)
        expect(await answer(gateway, 'call_tool', { name: tool, arguments: input })).toEqual(told)
      }
    expect((await answer(direct, 'check_song', { title: 'a' })).error.message).toContain('title: Give the whole title.')
    expect((await answer(direct, 'check_song', { title: 'none' })).error.message).toContain('This song does not exist.')
  })
})

const refusal = (client: Client, name: string, args: Record<string, unknown> = {}) =>
  client.callTool({ name, arguments: args }).then(
    ({ content }) => (content as { text: string }[])[0]?.text ?? '',
    (error: Error) => error.message,
  )

describe.each(ERAS)('a name that no tool has, for a client of era %s', era => {
  it('leads to the closest tool that the agent has, in both views', async () => {
    const fixture = await openSongs()
    const direct = await fixture.connect(era, { agent: 'direct' })
    const gateway = await fixture.connect(era, { agent: 'gateway' })
    const other = await fixture.connect(era, { agent: 'other' })
    await direct.listTools()
    for (const client of [direct, gateway]) {
      expect(await refusal(client, 'far_snig')).toMatch(/has no tool "far_snig"\. Did you mean "far_sing"\?$/)
      expect(await refusal(client, 'chek_song')).toContain('Did you mean "check_song"?')
    }
    expect(await refusal(gateway, 'find_tool')).toContain('Did you mean "find_tools"?')
    expect(await refusal(gateway, 'call_tool', { name: 'far_snig' })).toMatch(/Did you mean "far_sing"\?$/)
    expect(await refusal(gateway, 'describe_tool', { name: 'far_snig' })).toMatch(/Did you mean "far_sing"\?$/)
    for (const [name, args] of [
      ['far_snig', {}],
      ['call_tool', { name: 'far_snig' }],
      ['describe_tool', { name: 'far_snig' }],
    ] as const)
      expect(await refusal(other, name, args)).not.toContain('far_sing')
  })

  it('of another gateway leads to the tool that does it here, or to a command', async () => {
    const fixture = await openSongs()
    const direct = await fixture.connect(era, { agent: 'direct' })
    const gateway = await fixture.connect(era, { agent: 'gateway' })
    const keeper = await fixture.connect(era, { agent: 'keeper' })
    const led: [string, string, string][] = [
      ['wb_run', 'Use "call_tool".', 'Call the tool itself, by its name.'],
      ['wb_search', 'Use "find_tools".', 'quartermaster tools'],
      ['wb_status', 'Use "get_status".', 'quartermaster status'],
      ['agent_docs', 'Use "read_docs".', 'quartermaster docs'],
    ]
    for (const [name, tool, otherwise] of led) {
      expect(await refusal(gateway, name)).toMatch(new RegExp(`has no tool "${name}"\\. ${tool}$`))
      expect(await refusal(gateway, 'call_tool', { name })).toContain(tool)
      expect(await refusal(gateway, 'find_tools', { query: `how do I ${name}?` })).toContain(tool)
      expect(await refusal(direct, name)).toMatch(new RegExp(`${otherwise}$`))
    }
    for (const [name, tool, command] of [
      ['mcp_registry_reload', 'registry_reload', 'quartermaster reload'],
      ['recheck_disabled_capability', 'registry_recheck', 'quartermaster recheck NAME'],
    ] as const) {
      expect(await refusal(keeper, name)).toContain(`Use "${tool}".`)
      const found = await keeper.callTool({ name: 'find_tools', arguments: { query: name } })
      const { tools, note } = found.structuredContent as { tools: { name: string }[]; note: string }
      expect([tools[0]?.name, note]).toEqual([tool, expect.stringContaining(tool)])
      for (const client of [direct, gateway]) expect(await refusal(client, name)).toMatch(new RegExp(`${command}$`))
      const told = await refusal(gateway, 'find_tools', { query: name })
      expect(told).toContain(command)
      expect(told).not.toContain(`Use "${tool}"`)
    }
  })
})

it('lists a deprecated tool behind all others, in both views', async () => {
  const fixture = await openSongs()
  const direct = await fixture.connect('auto', { agent: 'direct' })
  const gateway = await fixture.connect('auto', { agent: 'gateway' })
  expect((await direct.listTools()).tools.map(({ name }) => name).at(-1)).toBe('far_old_sing')
  const found = async (query: string) => {
    const { structuredContent } = await gateway.callTool({ name: 'find_tools', arguments: { query } })
    return (structuredContent as { tools: { name: string }[] }).tools.map(({ name }) => name)
  }
  const aloud = await found('sings a song aloud')
  expect(aloud).toContain('far_sing')
  expect(aloud.at(-1)).toBe('far_old_sing')
  expect((await found('')).filter(name => name.startsWith('far_'))).toEqual(['far_sing', 'far_old_sing'])
  expect((await found('far_old_sing'))[0]).toBe('far_old_sing')
})

it('calls destructive only what can lose something', async () => {
  const capabilities = { files: { dirs: ['.'] }, inbox: {}, delegation: {}, memory: {}, registry: {}, user: {} }
  const fixture = await openFixture({ mcpServers: {}, agents: { default: { capabilities, view: 'direct' } } })
  const { tools } = await (await fixture.connect()).listTools()
  const named = (isDestructive: boolean) =>
    tools.filter(({ annotations }) => annotations?.destructiveHint === isDestructive).map(({ name }) => name)
  expect(named(true).toSorted()).toEqual(['cancel_task', 'commit_memory', 'forget_memory', 'write_file'])
  expect(named(false).toSorted()).toEqual([
    'broadcast_message',
    'delegate_task',
    'delegate_task_async',
    'inbox_pop',
    'registry_reload',
    'reply',
    'send_message_to_user',
  ])
  for (const { name, annotations } of tools)
    expect([name, annotations?.readOnlyHint]).toEqual([name, annotations?.destructiveHint === undefined])
})
