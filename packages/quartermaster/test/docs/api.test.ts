import { expect, it } from 'vitest'
import { z } from 'zod'
import { errorsOf } from '../../src/adapters/http/openapi.ts'
import { API, type ApiRoute } from '../../src/contracts/index.ts'
import { golden } from '../../src/testing/golden.ts'
import { readPage } from './pages.ts'

const FILE = new URL('../../../../docs/reference/api.md', import.meta.url)
const BEGIN = '<!-- made from the table of routes; npm run golden writes it anew -->'

it('docs/reference/api.md has every operation of the API as the table says, and no other (golden)', () => {
  const [words = ''] = readPage('docs/reference/api.md').text.split(BEGIN)
  const wanted = `${words}${BEGIN}\n\n${Object.entries(API).map(sectionOf).join('\n')}`
  expect(golden(FILE, wanted)).toBe(wanted)
})

it('docs/reference/api.md links to every error that an operation can have', () => {
  const errors = readPage('docs/reference/errors.md').text
  for (const route of Object.values(API)) for (const code of errorsOf(route)) expect(errors).toContain(`### ${code}\n`)
})

function sectionOf([name, route]: [string, ApiRoute]): string {
  const { method, path, summary, who, scope, body, output, status = 200 } = route
  const fields = [
    ['for', who.map(kind => WHO[kind]).join(', ')],
    ['scope', scope && `\`${scope}\``],
    ['query', namesOf(route.query)],
    ['body', body && namesOf(body)],
    ['answer', `${status}: ${namesOf(output)}`],
    ['errors', route.errors.map(code => `[${code}](errors.md#${code.toLowerCase()})`).join(', ')],
  ]
  const rows = fields.flatMap(([field, text]) => (text ? [`| ${field} | ${text} |`] : []))
  return `## ${name}\n\n\`${method} /api/v1${path}\`\n\n${summary}\n\n| | |\n|---|---|\n${rows.join('\n')}\n`
}

const WHO = { owner: 'the owner', person: 'persons', workspace: 'workspaces', anyone: 'anybody' } as const

/** The fields of an object; one that may be left out has a question mark. */
function namesOf(schema: z.ZodType): string {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input' })
  const names = Object.keys(properties).map(name => `\`${name}${required.includes(name) ? '' : '?'}\``)
  return names.join(', ')
}
