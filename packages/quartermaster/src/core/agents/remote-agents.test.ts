import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'

it('gives a guest one seat for as long as it is there, and keeps none of those who have left', async () => {
  const there = new Set(['ada', 'bob'])
  let tellLeft = () => {}
  const hub = await createHub({
    remoteAgents: {
      has: ({ workspace }) => there.has(workspace),
      hasJoined: () => false,
      onLeft: listener => void (tellLeft = listener),
    },
  })
  const findSession = (workspace: string) => hub.agents.findSession({ organisation: 'acme', workspace })
  const [ada, bob] = [findSession('ada'), findSession('bob')]
  expect(findSession('ada')).toBe(ada)
  there.delete('ada')
  tellLeft()
  expect(findSession('ada')).toBeUndefined()
  there.add('ada')
  expect(findSession('ada')).not.toBe(ada)
  expect(findSession('bob')).toBe(bob)
})

it('offers a guest the directions that come with the product and that it has the tools for, and none of the project', async () => {
  const directions = (command: string, tools: readonly string[]) => ({
    path: `guides/${command}`,
    front: { kind: 'directions', title: command, summary: 'S.', whenToUse: 'W.', command, tools },
    body: `Do ${command}.\n\n{{include: guides/house}}`,
  })
  const keys = ['delegation', 'inbox', 'history', 'user', 'memory']
  const platform = keys.map(key => simpleCapability(key, [simpleTool(`${key}_tool`)]))
  const hub = await createHub({
    units: { 'all.ts': { capabilities: platform }, 'knowledge.md': { written: [directions('house', [])] } },
    builtin: { 'ours.md': { written: [directions('ask', ['inbox_tool']), directions('fix', ['registry_status'])] } },
    remoteAgents: { has: () => true, hasJoined: () => false, onLeft: () => {} },
  })
  const session = hub.agents.findSession({ organisation: 'acme', workspace: 'ada' })
  const { prompts, skills } = session?.view() ?? {}
  expect(prompts?.map(({ prompt }) => prompt.name)).toEqual(['ask'])
  expect(skills?.map(({ uri }) => uri)).toEqual(['skill://ask/SKILL.md'])
  expect(skills?.[0]?.text()).toContain('there is nothing for you to read at "guides/house".')
})
