import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../testing/hub.ts'
import { skillsIn } from './api-door.ts'

it('shows what an agent can do on its own card, and on nobody’s who has its name elsewhere', async () => {
  const core = await createHub({
    units: { main: { capabilities: [simpleCapability('main', [simpleTool('add')])] } },
    agents: { root: { capabilities: { main: {} } } },
  })
  const skills = (organisation: string, workspace: string) => skillsIn({ core }, { organisation, workspace })
  expect(skills('default', 'root')).toMatchObject([{ id: 'add' }])
  expect(skills('acme', 'root')).toBeUndefined()
  expect(skills('default', 'somebody')).toBeUndefined()
})
