import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { ERAS } from './support/bridge.ts'
import { ILL_SERVER, openDesk, program } from './support/upstream-desk.ts'

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
  const far = [{ name: 'sing', description: 'Sings.', inputSchema: INPUT, annotations: { readOnlyHint: true } }]
  return openDesk({
    mcpServers: { far: program(ILL_SERVER, '--definitions=tools.json') },
    agents: {
      direct: { capabilities: CAPABILITIES, view: 'direct' },
      gateway: { capabilities: CAPABILITIES, view: 'gateway' },
      other: { capabilities: { files: { dirs: ['.'] } } },
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
  it('are told in the same words of own tools and of those of servers, in both views', async () => {
    const desk = await openSongs()
    const direct = await desk.connect(era, { agent: 'direct' })
    const gateway = await desk.connect(era, { agent: 'gateway' })
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
