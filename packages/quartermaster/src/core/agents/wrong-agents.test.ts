import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'

const units = {
  'main.ts': {
    capabilities: [
      simpleCapability('main', [simpleTool('walk'), simpleTool('run')]),
      simpleCapability('other', [simpleTool('swim')]),
    ],
  },
}

it('an agent that is given a capability that does not exist keeps the others, and its owner reads how to fix it', async () => {
  const hub = await createHub({
    units,
    agents: { ada: { capabilities: { main: {}, othr: {} } }, bob: { capabilities: { main: {} } } },
  })
  expect(hub.agents.problems()).toMatchObject([
    {
      severity: 'error',
      subject: 'agent:ada',
      message: 'There is no capability "othr". Did you mean "other"?',
      fix: '"ada" does not have "othr" until then. Correct the file, or take it away: quartermaster grant ada othr --revoke',
    },
  ])
  expect([hub.toolNamesFor('ada'), hub.toolNamesFor('bob')]).toEqual([
    ['walk', 'run'],
    ['walk', 'run'],
  ])
  const view = hub.agents.session('ada').view()
  const reason = 'There is no capability "othr". Did you mean "other"?'
  expect(view.report()).toContainEqual({ capability: 'othr', tool: '*', state: 'unavailable', reason })
  expect(view.facts().unseen).toEqual([{ capability: 'othr', reason }])
})

it('a `tools` list with a wrong name gives the others, and says which name was meant', async () => {
  const main = { tools: ['walk', 'rn'] }
  const hub = await createHub({ units, agents: { ada: { capabilities: { main, other: {} } } } })
  expect(hub.toolNamesFor('ada')).toEqual(['walk', 'swim'])
  expect(hub.agents.problems()).toHaveLength(1)
  const { facts, report } = hub.agents.session('ada').view()
  const reason = 'Capability "main" has no tool "rn". Did you mean "run"?'
  expect(facts().withheld).toEqual([{ tool: 'rn', capability: 'main', reason }])
  expect(report()).toContainEqual({ capability: 'main', tool: 'rn', state: 'unavailable', reason })
  await expect(hub.callAs('ada', 'rn')).rejects.toMatchObject({ message: expect.stringContaining(reason) })
})

it('a `tools` list that names a tool twice gives it, and its owner is told', async () => {
  const main = { tools: ['walk', 'walk'] }
  const hub = await createHub({ units, agents: { ada: { capabilities: { main, other: {} } } } })
  expect(hub.toolNamesFor('ada')).toEqual(['walk', 'swim'])
  expect(hub.agents.problems()).toMatchObject([{ message: '"walk" is listed twice.' }])
  expect(hub.agents.session('ada').view().facts()).not.toHaveProperty('withheld')
})

it.each([
  ['a `tools` list that has only wrong names', { tools: ['wlak'] }, 'Did you mean "walk"?'],
  ['a wildcard', { tools: ['*'] }, 'has no tool "*"'],
  ['a configuration that it does not take', { speed: 3 }, 'takes no configuration'],
])('%s gives nothing of its capability and everything of the others', async (_what, main, text) => {
  const hub = await createHub({ units, agents: { ada: { capabilities: { main, other: {} } } } })
  expect(hub.toolNamesFor('ada')).toEqual(['swim'])
  expect(hub.agents.session('ada').view().report()).toContainEqual(
    expect.objectContaining({ capability: 'main', state: 'unavailable', reason: expect.stringContaining(text) }),
  )
})

it('a call of a tool whose capability is configured wrongly says what is wrong', async () => {
  const hub = await createHub({ units, agents: { ada: { capabilities: { main: { speed: 3 }, gone: {}, other: {} } } } })
  const message = expect.stringContaining('takes no configuration beside "tools"')
  await expect(hub.callAs('ada', 'walk')).rejects.toMatchObject({ code: 'TOOL_DISABLED', message })
  await expect(hub.callAs('ada', 'gone_thing')).rejects.toMatchObject({
    message: expect.stringContaining('There is no capability "gone".'),
  })
  await expect(hub.callAs('ada', 'never_heard_of')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
})

it('a capability comes back with its definition, and no tool of a wrong list is ever called', async () => {
  const hub = await createHub({ units, agents: { ada: { capabilities: { late: { tools: ['jump'] }, other: {} } } } })
  expect(hub.toolNamesFor('ada')).toEqual(['swim'])
  hub.write('late.ts', { capabilities: [simpleCapability('late', [simpleTool('jump'), simpleTool('fly')])] })
  await hub.catalogue.reload()
  expect(hub.toolNamesFor('ada').toSorted()).toEqual(['jump', 'swim'])
  hub.write('late.ts', { capabilities: [simpleCapability('late', [simpleTool('fly')])] })
  await hub.catalogue.reload()
  expect(hub.toolNamesFor('ada')).toEqual(['swim'])
})
