import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { toolPage } from './index.ts'

it('says of a tool what it takes, what it gives, what it may do and how it is used', async () => {
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

- may change something; doing it twice does it twice; asks nobody.
- ends after 30 s at the latest; answers with at most 262144 bytes at once.

## Examples

write to Bob

\`\`\`json
{
  "to": "bob@example.org"
}
\`\`\`
`)
})

it('says so when there is nothing to give', async () => {
  const hub = await createHub({ units: { 'a.ts': { capabilities: [simpleCapability('main', [simpleTool('now')])] } } })
  const page = toolPage(hub.catalogue.tool('now'))
  expect(page).toContain('_Nothing in particular._')
  expect(page).not.toContain('## Output')
})
