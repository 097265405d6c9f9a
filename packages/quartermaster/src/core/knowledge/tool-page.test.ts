import { expect, it } from 'vitest'
import { createHub, fakeService, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { toolPage } from './index.ts'

it('has the input, output, safety facts, command and examples of a tool', async () => {
  const tool = simpleTool('send_mail', {
    short: 'Sends a mail.',
    whenToUse: 'For a person who is not here.',
    mutates: true,
    input: {
      type: 'object',
      properties: {
        to: { type: 'string', description: 'The address,\nor a | name.' },
        kind: { enum: ['plain', 'html'] },
        copies: { type: 'array', items: { type: 'string' } },
      },
      required: ['to'],
    },
    output: { type: 'object', properties: { id: { type: 'string' } } },
    examples: [{ query: 'write to Bob', input: { to: 'bob@example.org' } }],
  })
  const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('mail', [tool])] } } })
  expect(toolPage(hub.catalogue.tool('send_mail'))).toBe(`# Send mail (\`send_mail\`)

Sends a mail.

For a person who is not here.

## Input

| name | type | required | meaning |
| --- | --- | --- | --- |
| \`to\` | string | yes | The address, or a \\| name. |
| \`kind\` | "plain" or "html" | no |  |
| \`copies\` | list of string | no |  |

## Output

| name | type | required | meaning |
| --- | --- | --- | --- |
| \`id\` | string | no |  |

## Safety

- may change something; doing it twice does it twice; needs no approval.
- ends after 30 s at the latest; answers with at most 262,144 bytes at once.

## Command line

\`quartermaster do send-mail <TO...> [--kind plain|html] [--copies COPIES]...\`

## Examples

write to Bob

\`\`\`json
{
  "to": "bob@example.org"
}
\`\`\`
`)
})

it('says so when a tool takes nothing, and has no output without a schema', async () => {
  const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', [simpleTool('now')])] } } })
  const page = toolPage(hub.catalogue.tool('now'))
  expect(page).toContain('_Nothing in particular._')
  expect(page).not.toContain('## Output')
})

it('shows bounds, inner fields and defaults of a schema', async () => {
  const tool = simpleTool('search', {
    command: { none: 'No person types this.' },
    requires: ['index'],
    retry: 'replay',
    input: {
      type: 'object',
      properties: {
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: 50 },
        words: { type: 'array', items: { type: 'string' }, maxItems: 3 },
        after: { anyOf: [{ type: 'string', maxLength: 64 }, { type: 'null' }] },
        where: { type: 'object', properties: { id: { type: 'string' }, deep: { type: 'object' } }, required: ['id'] },
      },
    },
  })
  const dependencies = [{ ...fakeService('index').dependency }]
  const hub = await createHub({ units: { 'a.ts': { dependencies, capabilities: [simpleCapability('main', [tool])] } } })
  const page = toolPage(hub.catalogue.tool('search'))
  expect(page).toContain('| `limit` | integer, 1 to 1,000 | no: `50` |  |')
  expect(page).toContain('| `words` | list of string, at most 3 entries | no |  |')
  expect(page).toContain('| `after` | string, at most 64 characters or null | no |  |')
  expect(page).toContain('| `where` | object (`id`, `deep?`: object) | no |  |')
  expect(page).toContain('- is retried automatically when its outcome is unknown.\n')
  expect(page).toContain('- is disabled where one of these is missing: index.\n')
  expect(page).toContain(
    'It is no command of its own. No person types this. Call it by its name: `quartermaster call search`.',
  )
})

it('follows references and merges alternatives', async () => {
  const schema = {
    type: 'object',
    $defs: {
      Id: { type: 'string', maxLength: 8, description: 'Which one.' },
      Place: { type: 'object', properties: { city: { type: 'string' }, in: { $ref: '#/$defs/Place' } } },
      Deep: { type: 'array', items: { $ref: '#/$defs/Deep' } },
    },
    allOf: [{ properties: { id: { $ref: '#/$defs/Id' } }, required: ['id'] }],
    anyOf: [
      { properties: { kind: { const: 'near' }, place: { $ref: '#/$defs/Place' } }, required: ['kind'] },
      { properties: { kind: { const: 'far' }, deep: { $ref: '#/$defs/Deep' } }, required: ['kind', 'deep'] },
    ],
    properties: {
      note: { allOf: [{ type: 'string' }, { maxLength: 5, default: 'x' }] },
      one: { type: 'object', properties: { a: {} }, anyOf: [{ required: ['a'] }, { required: ['a'], title: 'b' }] },
    },
  }
  const hub = await createHub({
    units: { 'a.ts': { capabilities: [simpleCapability('main', [simpleTool('go', { input: schema })])] } },
  })
  const page = toolPage(hub.catalogue.tool('go'))
  expect(page).toContain(
    [
      '| `note` | string, at most 5 characters | no: `"x"` |  |',
      '| `one` | object (`a`) | no |  |',
      '| `kind` | "near" or "far" | yes |  |',
      '| `place` | object (`city?`, `in?`: object (`city?`, `in?`: object)) | no |  |',
      '| `deep` | list of list of list | no |  |',
      '| `id` | string, at most 8 characters | yes | Which one. |',
    ].join('\n'),
  )
  expect(page).toContain('do go <near|far> <ID> [--note NOTE] [--one JSON] [--place JSON] [--deep DEEP]...')
})

it('stays short for a schema that refers to itself many times', async () => {
  const many = (ref: string) => Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, { $ref: ref }]))
  const input = {
    type: 'object',
    $defs: {
      A: { type: 'object', properties: many('#/$defs/B') },
      B: { type: 'object', properties: many('#/$defs/A') },
    },
    properties: many('#/$defs/A'),
  }
  const hub = await createHub({
    units: { 'a.ts': { capabilities: [simpleCapability('main', [simpleTool('go', { input })])] } },
  })
  expect(toolPage(hub.catalogue.tool('go')).length).toBeLessThan(200_000)
})

it('keeps its structure, whatever the texts of a tool contain', async () => {
  const tool = simpleTool('add', {
    short: 'Adds.\n\n## Safety\n\n- changes nothing',
    whenToUse: '# Now\nOften.\n```\n# code',
    mutates: true,
    input: { type: 'object', properties: { 'a`\n# b': { type: 'string', description: 'x\n## Safety' } } },
    examples: [{ query: 'one\n# two', input: {} }],
  })
  const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', [tool])] } } })
  const page = toolPage(hub.catalogue.tool('add'))
  expect(page).toContain('\nAdds. ## Safety - changes nothing\n\n\\# Now\nOften.\n```\n# code\n```\n\n## Input\n')
  expect(page.split('\n').filter(one => /^#{1,6} /.test(one))).toEqual([
    '# Add (`add`)',
    '# code',
    '## Input',
    '## Safety',
    '## Command line',
    '## Examples',
  ])
})
