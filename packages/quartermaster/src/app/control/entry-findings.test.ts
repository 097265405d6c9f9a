import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { entryFindings } from './doctor.ts'

const found = (entry: object) =>
  entryFindings(new Map([['desk', UpstreamConfig.parse({ url: 'https://desk.example/mcp', ...entry })]]), [
    'ada',
    'bob',
  ])

it('names whoever has credentials in an entry and is no agent, and whom that may have meant', () => {
  const agents = { adda: { headers: {} }, bob: { headers: {} }, zoe: { headers: {} } }
  expect(found({ agents })).toEqual([
    {
      level: 'warning',
      where: 'mcpServers.desk.agents.adda',
      what: 'The entry of "desk" has credentials of "adda" and there is no agent "adda", so they are unused. Did you mean "ada"?',
      fix: 'Correct the name, or take it out. Until then everybody calls with what the entry itself has.',
    },
    expect.objectContaining({ what: expect.stringMatching(/no agent "zoe", so they are unused\.$/) }),
  ])
})

it('names what is said of consent operations that no tool of the server asks for', () => {
  const tools = { send: { consent: ['desk.write', 'files.write'] } }
  const known = { 'desk.write': { weight: 'low' }, 'desk.destructive': { weight: 'low' } }
  expect(found({ tools, consentOperations: known })).toEqual([])
  expect(found({ tools, consentOperations: { 'desk.wrote': {}, 'files.write': {} } })).toEqual([
    {
      level: 'warning',
      where: 'mcpServers.desk.consentOperations.desk.wrote',
      what: 'No tool of "desk" asks for the consent operation "desk.wrote". Did you mean "desk.write"?',
      fix: 'Correct the name, or take it out. A tool asks for it by "consent" under "tools" in the same entry.',
    },
    expect.objectContaining({ where: 'mcpServers.desk.consentOperations.files.write' }),
  ])
})
