import { mkdir, rm } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { createAgentFiles } from './index.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const noSecrets = { get: () => undefined }

async function agentsIn(files: Record<string, unknown>, env: Record<string, string> = {}) {
  const project = await tempProject(files)
  const agents = createAgentFiles({ projectDir: project.dir, env, secrets: noSecrets, watch: false, log: silent })
  return { ...project, agents }
}

describe("reading the agents' files", () => {
  it('gives every agent, sorted by name, with its file and the hash of its text', async () => {
    const { agents } = await agentsIn({
      'agents/b.json': '{ "capabilities": {} }',
      'agents/a.json': { title: 'A', capabilities: { files: { tools: [] } } },
    })
    expect(await agents.load()).toEqual([
      {
        name: 'a',
        file: 'agents/a.json',
        config: { title: 'A', capabilities: { files: { tools: [] } } },
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        problems: [],
      },
      {
        name: 'b',
        file: 'agents/b.json',
        config: { capabilities: {} },
        hash: '2a2c7a52aa2d95efd403a6f63ee586d2453639f59da8eb2ef6a30942968ab138',
        problems: [],
      },
    ])
  })

  it('gives none when there is no folder of agents', async () => {
    expect(await (await agentsIn({})).agents.load()).toEqual([])
  })

  it('leaves a bad file without configuration and the others unaffected', async () => {
    const { agents } = await agentsIn({
      'agents/bad.json': '{\n  "capabilites": {},\n  "consent": { "allow": ["Files"] }\n}',
      'agents/broken.json': '{',
      'agents/good.json': { capabilities: {} },
    })
    const [bad, broken, good] = await agents.load()
    expect(bad).not.toHaveProperty('config')
    expect(bad?.problems).toEqual([
      {
        severity: 'error',
        code: 'AGENT_INVALID',
        where: 'agents/bad.json:1:1',
        subject: 'agent:bad',
        field: 'capabilities',
        message: '"capabilities" is missing: expected an object.',
        fix: 'Add it.',
      },
      {
        severity: 'error',
        code: 'AGENT_INVALID',
        where: 'agents/bad.json:2:3',
        subject: 'agent:bad',
        field: 'capabilites',
        message: '"capabilites" is not known here. Did you mean "capabilities"?',
        fix: 'Correct the name or remove it.',
      },
      {
        severity: 'error',
        code: 'AGENT_INVALID',
        where: 'agents/bad.json:3:26',
        subject: 'agent:bad',
        field: 'consent.allow.0',
        message: 'It must look like "files.write": lower case, parts joined by dots.',
        fix: 'Change the text.',
      },
    ])
    expect(broken).toMatchObject({
      name: 'broken',
      problems: [{ code: 'AGENT_INVALID', where: 'agents/broken.json:1:2' }],
    })
    expect(good).toMatchObject({ config: { capabilities: {} }, problems: [] })
  })

  it('wants a file name that can be the name of an agent', async () => {
    const { agents } = await agentsIn({
      'agents/my agent.json': { capabilities: {} },
      [`agents/${'x'.repeat(65)}.json`]: { capabilities: {} },
    })
    const entries = await agents.load()
    expect(entries.map(entry => [entry.config, entry.problems[0]?.fix])).toEqual([
      [undefined, 'Rename the file.'],
      [undefined, 'Rename the file.'],
    ])
    expect(entries[0]?.problems[0]?.message).toBe("An agent's name must be 1 to 64 of the characters A–Z a–z 0–9 _ -.")
  })

  it('says of a reserved word that it is one', async () => {
    const { agents } = await agentsIn({ 'agents/constructor.json': { capabilities: {} } })
    const [entry] = await agents.load()
    expect(entry?.problems[0]?.message).toBe(
      'An agent\'s name must not be "__proto__", "constructor" or "prototype": these words are reserved.',
    )
  })

  it('takes no notice of other files, hidden ones and folders inside', async () => {
    const { agents } = await agentsIn({
      'agents/notes.md': '',
      'agents/.swap.json': '',
      'agents/deep/x.json': '{}',
      'agents/a.json': { capabilities: {} },
    })
    expect((await agents.load()).map(entry => entry.name)).toEqual(['a'])
  })

  it('tells of a folder where a file should be', async () => {
    const { agents, path } = await agentsIn({})
    await mkdir(path('agents/a.json'), { recursive: true })
    expect(await agents.load()).toMatchObject([
      { name: 'a', hash: '', problems: [{ code: 'AGENT_INVALID', message: 'It is not a regular file.' }] },
    ])
  })

  it.each(['__proto__', 'constructor', 'prototype'])('refuses the name %s at any depth', async key => {
    const { agents } = await agentsIn({
      'agents/a.json': `{ "capabilities": { "files": { "deep": [{ "${key}": { "polluted": true } }] } } }`,
    })
    expect(await agents.load()).toMatchObject([{ problems: [{ field: `capabilities.files.deep.0.${key}` }] }])
    expect({}).not.toHaveProperty('polluted')
  })

  it('keeps the same object for a text that did not change', async () => {
    const { agents, write } = await agentsIn({
      'agents/a.json': { capabilities: {} },
      'agents/b.json': '{',
      'agents/c.json': { capabilities: {} },
    })
    const before = await agents.load()
    await write('agents/c.json', '{ "capabilities": { "files": {} } }')
    const after = await agents.load()
    expect(after.map((entry, i) => entry === before[i])).toEqual([true, true, false])
  })

  it('keeps the same object for references until they mean something else', async () => {
    const env: Record<string, string> = { WHO: 'one' }
    const { agents } = await agentsIn({ 'agents/a.json': { capabilities: {}, title: '${WHO}' } }, env)
    const [before] = await agents.load()
    expect((await agents.load())[0]).toBe(before)
    env['WHO'] = 'two'
    expect((await agents.load())[0]?.config?.title).toBe('two')
  })

  it('reads one agent by name', async () => {
    const { agents, path } = await agentsIn({ 'agents/a.json': { capabilities: {} }, 'x.json': { capabilities: {} } })
    const [entry] = await agents.load()
    expect(await agents.read('a')).toBe(entry)
    expect(await agents.read('nobody')).toBeUndefined()
    expect(await agents.read('../x')).toBeUndefined()
    await rm(path('agents/a.json'))
    expect(await agents.read('a')).toBeUndefined()
  })
})
