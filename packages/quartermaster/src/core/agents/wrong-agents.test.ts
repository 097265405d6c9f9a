import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'

it('an agent that is given what does not exist has nothing, and its owner is told so and how to mend it', async () => {
  const hub = await createHub({
    units: { 'main.ts': { capabilities: [simpleCapability('main', [simpleTool('walk')])] } },
    agents: { ada: { capabilities: { main: {}, gone: {} } }, bob: { capabilities: { main: {} } } },
  })
  expect(hub.agents.problems()).toMatchObject([
    {
      subject: 'agent:ada',
      message: 'There is no capability "gone".',
      mend: 'Until then "ada" has no tools at all. Mend it in the file, or take it away: quartermaster grant ada gone --revoke',
    },
  ])
  expect([hub.toolNamesFor('ada'), hub.toolNamesFor('bob')]).toEqual([[], ['walk']])
})
