import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { itemsOf, membersOf } from './support/json-slices.ts'
import { type Answers, literalServer } from './support/literal-server.ts'
import { spelled, withoutAdditions } from './support/passed-on.ts'
import { openFixture } from './support/upstream-fixture.ts'
import { createWireTap, tappedFetch } from './support/wire-tap.ts'

const SERVERS = (['legacy', 'modern'] as const).flatMap(era =>
  (['stdio', 'http'] as const).map(transport => ({ era, transport })),
)
const FRONTS = ['legacy', 'modern'] as const
const ADDRESS = 'desk://note'
const inputSchema = { type: 'object', properties: {} }

/** A value without meaning to this product, wherever it may stand. */
const meta = (where: string) => ({ _meta: { 'desk/where': where, 'desk/more': { z: [1, null, 'ü'], a: {} } } })

const RESULT = {
  content: [
    { type: 'text', text: 'Grüße\n"世界" 🌍', annotations: { audience: ['user'] }, ...meta('text') },
    { ...meta('image'), type: 'image', mimeType: 'image/png', data: 'aGk=' },
    { type: 'audio', data: 'aGk=', mimeType: 'audio/wav', ...meta('audio') },
    { type: 'resource', resource: { uri: ADDRESS, text: 'inside', ...meta('resource') }, ...meta('embedded') },
    { type: 'resource', resource: { uri: ADDRESS, blob: 'aGk=', ...meta('blob') } },
    { type: 'resource_link', uri: ADDRESS, name: 'note', ...meta('link') },
  ],
  structuredContent: { zeta: 1, alpha: [{ ...meta('structure') }], ...meta('structure') },
  extra: { b: 1, a: 2 },
  ...meta('result'),
}

const ANSWERS: Answers = Object.fromEntries(
  Object.entries({
    'tools/list': { tools: [{ name: 'all', description: 'Has all.', inputSchema, ...meta('tool') }] },
    'tools/call': RESULT,
    'prompts/list': {
      prompts: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'who' }], ...meta('prompt') }],
    },
    'prompts/get': {
      ...meta('result'),
      messages: RESULT.content.map(content => ({ role: 'user', content, ...meta('message') })),
      description: 'Greets.',
    },
    'resources/list': { resources: [{ uri: ADDRESS, name: 'note', ...meta('resource') }] },
    'resources/templates/list': {
      resourceTemplates: [{ uriTemplate: 'desk://{name}', name: 'any', ...meta('template') }],
    },
    'resources/read': {
      contents: [
        { uri: ADDRESS, text: 'Read.', ...meta('text') },
        { ...meta('blob'), blob: 'aGk=', uri: ADDRESS, mimeType: 'image/png' },
      ],
      ...meta('result'),
    },
    'completion/complete': { completion: { values: ['Ada', 'Änne'], total: 2, hasMore: false } },
  }).map(([method, result]) => [method, JSON.stringify(result)]),
)

const LISTS = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

const ref = { type: 'ref/prompt' as const, name: 'desk_greet' }
const STEPS: Record<string, (client: Client) => Promise<unknown>> = {
  'tools/call': client => client.callTool({ name: 'desk_all', arguments: {} }),
  'prompts/get': client => client.getPrompt({ name: 'desk_greet' }),
  'resources/read': client => client.readResource({ uri: ADDRESS }),
  'completion/complete': client => client.complete({ ref, argument: { name: 'who', value: 'A' } }),
  'tools/list': client => client.listTools(),
  'prompts/list': client => client.listPrompts(),
  'resources/list': client => client.listResources(),
  'resources/templates/list': client => client.listResourceTemplates(),
}

/** How a server may spell something, and how it reads in front. */
const SPELLINGS = {
  '1.0': '1',
  '-1.50': '-1.5',
  '1e2': '100',
  '1E-7': '1e-7',
  '9007199254740993': '9007199254740992',
  '12345678901234567890': '12345678901234567000',
  '"\\u0041\\u00fc\\/\\ud83c\\udf0d"': '"Aü/🌍"',
  '"\\u0000\\ud800\\u000A"': '"\\u0000\\ud800\\n"',
  '{ "b" : 1.0 , "a" : [ ] }': '{"b":1,"a":[]}',
  '{"__proto__":{"z":true},"constructor":null}': '{"__proto__":{"z":true},"constructor":null}',
}

/** A result that has these wherever it may have anything, beside a picture of so many letters. */
function resultWith(values: readonly string[], size: number): string {
  const all = `{"desk/all":[${values}]}`
  const picture = `{"type":"image","mimeType":"image/png","data":"${'aGkh'.repeat(size / 4)}","_meta":${all}}`
  return `{"content":[${picture}],"structuredContent":${all},"_meta":${all}}`
}

describe.each(SERVERS)('what a server of the $era era says over $transport', server => {
  /** Takes steps with a client of each era, and answers what stood on the wire. */
  async function inFront(answers: Answers, methods: readonly string[]) {
    const fixture = await openFixture({ mcpServers: { desk: await literalServer(answers, server) } })
    await expect.poll(async () => (await fixture.status('desk'))?.state).toBe('up')
    return Promise.all(
      FRONTS.map(async era => {
        const tap = createWireTap()
        const client = await fixture.connect(era === 'modern' ? 'auto' : 'legacy', { fetch: tappedFetch(tap) })
        for (const method of methods) await STEPS[method]?.(client)
        return { era, resultOf: tap.resultOf }
      }),
    )
  }

  it('comes out in front to the letter, with `_meta` wherever that stands', async () => {
    for (const { era, resultOf } of await inFront(ANSWERS, Object.keys(STEPS))) {
      for (const method of ['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])
        expect(withoutAdditions(resultOf(method), era)).toEqual(spelled(ANSWERS[method] ?? ''))
      for (const [method, key] of Object.entries(LISTS))
        expect(metaIn(resultOf(method), key)).toEqual(metaIn(ANSWERS[method] ?? '', key))
    }
  })

  // What is long is read in another way, piece by piece.
  it.each([4, 800_000])('comes out in the spelling of JavaScript, and in its order, beside %i letters', async size => {
    const [behind, front] = [Object.keys(SPELLINGS), Object.values(SPELLINGS)].map(all => resultWith(all, size))
    const answers = { ...ANSWERS, 'tools/call': behind ?? '' }
    for (const { era, resultOf } of await inFront(answers, ['tools/call']))
      expect(withoutAdditions(resultOf('tools/call'), era)).toEqual(spelled(front ?? ''))
  })
})

/** What stands in the `_meta` of each of our things in a list. */
function metaIn(list: string, key: string): unknown[] {
  const ours = itemsOf(membersOf(list).get(key) ?? '').filter(item => !item.includes('"quartermaster://'))
  return ours.map(item => membersOf(item).get('_meta'))
}
