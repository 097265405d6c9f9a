import { expect, it } from 'vitest'
import { defineCapability } from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import { skillsIn } from './front-handlers.ts'

it('shows what an agent can do on its own card, and on nobody’s who has its name elsewhere', async () => {
  const core = await createHub({
    units: {
      main: {
        capabilities: [
          simpleCapability('main', [simpleTool('add', { section: 'sums' })]),
          // How it works is nobody else's affair.
          defineCapability({ key: 'post', short: 'Reads letters.', inward: true, tools: [simpleTool('read_letter')] }),
        ],
      },
    },
    agents: { root: { capabilities: { main: {}, post: {} } } },
  })
  const skills = (organisation: string, workspace: string) => skillsIn({ core }, { organisation, workspace })
  expect(skills('default', 'root')).toMatchObject([{ id: 'add', tags: ['main', 'sums'] }])
  expect(skills('acme', 'root')).toBeUndefined()
  expect(skills('default', 'somebody')).toBeUndefined()
})
