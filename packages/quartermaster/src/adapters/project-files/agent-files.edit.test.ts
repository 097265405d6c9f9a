import { writeFileSync } from 'node:fs'
import { chmod, readdir, stat, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { AgentConfig } from '../../contracts/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createAgentFiles } from './index.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const noSecrets = { get: () => undefined }

async function agentWith(text: string | undefined) {
  const project = await tempProject(text === undefined ? {} : { 'agents/a.json': text })
  const agents = createAgentFiles({ projectDir: project.dir, env: {}, secrets: noSecrets, watch: false, log: silent })
  return { ...project, agents }
}

/** What becomes of a text. */
async function edited(text: string, change: (config: AgentConfig) => AgentConfig): Promise<string> {
  const { agents, read } = await agentWith(text)
  const { config } = await agents.edit('a', change)
  expect((await agents.read('a'))?.config).toEqual(config)
  return read('agents/a.json')
}

const granting =
  (key: string, value: AgentConfig['capabilities'][string]) =>
  (config: AgentConfig): AgentConfig => ({ ...config, capabilities: { ...config.capabilities, [key]: value } })

const revoking =
  (key: string) =>
  ({ capabilities, ...config }: AgentConfig): AgentConfig => ({
    ...config,
    capabilities: Object.fromEntries(Object.entries(capabilities).filter(([name]) => name !== key)),
  })

const COMMENTED = `// The researcher.
{
  /* what it may do */
  "capabilities": {
    "memory": {}, // remembers
    // reads reports only
    "files": { "dirs": ["./reports"],   "tools": ["read_file"] } // and nothing else
  },
  "title":   "Researcher", // odd spacing stays
}
`

describe("editing an agent's file", () => {
  it('adds a capability and leaves comments, order and layout as they were', async () => {
    expect(await edited(COMMENTED, granting('mail', { box: 'in', tools: ['send', 'read'] }))).toBe(`// The researcher.
{
  /* what it may do */
  "capabilities": {
    "memory": {}, // remembers
    // reads reports only
    "files": { "dirs": ["./reports"],   "tools": ["read_file"] }, // and nothing else
    "mail": {
      "box": "in",
      "tools": ["send", "read"]
    }
  },
  "title":   "Researcher", // odd spacing stays
}
`)
  })

  it('adds a field behind a trailing comma and keeps the habit', async () => {
    const text = await edited(COMMENTED, config => ({ ...config, consent: { allow: ['files.write'] } }))
    expect(text).toContain(
      '  "title":   "Researcher", // odd spacing stays\n  "consent": {\n    "allow": ["files.write"]\n  },\n}\n',
    )
  })

  it('changes one value in place', async () => {
    const text = await edited(COMMENTED, granting('files', { dirs: ['./reports', './notes'], tools: ['read_file'] }))
    expect(text).toBe(COMMENTED.replace('["./reports"]', '["./reports", "./notes"]'))
  })

  it('takes away the last capability with the comma before it', async () => {
    const text = await edited(COMMENTED, revoking('files'))
    expect(text).toContain('    "memory": {} // remembers\n    // reads reports only\n  },')
  })

  it('takes away the first capability and leaves the comments of the next', async () => {
    const text = await edited(COMMENTED, revoking('memory'))
    expect(text).toContain('  "capabilities": {\n    // reads reports only\n    "files"')
  })

  it.each([
    ['{"capabilities":{}}', granting('m', {}), '{"capabilities":{ "m": {} }}'],
    ['{ "capabilities": { "a": {} } }', granting('m', { x: 1 }), '{ "capabilities": { "a": {}, "m": { "x": 1 } } }'],
    ['{ "capabilities": { "a": {}, } }', granting('m', {}), '{ "capabilities": { "a": {}, "m": {}, } }'],
    ['{ "capabilities": { "a": {}, "b": {} } }', revoking('a'), '{ "capabilities": { "b": {} } }'],
    ['{ "capabilities": { "a": {}, "b": {} } }', revoking('b'), '{ "capabilities": { "a": {} } }'],
    ['{ "capabilities": { "a": {}, } }', revoking('a'), '{ "capabilities": {} }'],
    ['{ "capabilities": { /* none */ } }', granting('m', {}), '{ "capabilities": { /* none */ "m": {} } }'],
    [
      '{\n\t"capabilities": {}\n}\n',
      granting('m', { x: 1 }),
      '{\n\t"capabilities": {\n\t\t"m": {\n\t\t\t"x": 1\n\t\t}\n\t}\n}\n',
    ],
    [
      '{\r\n  "capabilities": {\r\n    "a": {}\r\n  }\r\n}\r\n',
      granting('m', {}),
      '{\r\n  "capabilities": {\r\n    "a": {},\r\n    "m": {}\r\n  }\r\n}\r\n',
    ],
    ['\uFEFF{ "capabilities": {} }', granting('m', {}), '\uFEFF{ "capabilities": { "m": {} } }'],
    [
      '{\n  "capabilities": {\n    // none yet\n  }\n}',
      granting('m', {}),
      '{\n  "capabilities": {\n    // none yet\n    "m": {}\n  }\n}',
    ],
    ['{\n  "capabilities": {\n    "a": {}\n  }\n}', revoking('a'), '{\n  "capabilities": {}\n}'],
  ])('keeps the layout of %j', async (text, change, expected) => {
    expect(await edited(text, change)).toBe(expected)
  })

  it.each([
    ['["a", "b", "c"]', ['a', 'c'], '["a", "c"]'],
    ['["a", "b", "c"]', ['a', 'b'], '["a", "b"]'],
    ['["a", "b"]', ['b'], '["b"]'],
    ['["a"]', [], '[]'],
    ['[]', ['a'], '["a"]'],
    ['["b"]', ['a', 'b'], '["a", "b"]'],
    ['["a", /* keep */ "b"]', ['a', 'b', 'c'], '["a", /* keep */ "b", "c"]'],
    ['["a", "c"]', ['a', 'b', 'c'], '["a", "b", "c"]'],
    ['["a", "b"]', ['x', 'y', 'z'], '["x", "y", "z"]'],
    ['[\n  "a", // first\n  "b" // second\n]', ['a', 'b', 'c'], '[\n  "a", // first\n  "b", // second\n  "c"\n]'],
    ['[\n  "a", // first\n  "b" // second\n]', ['a'], '[\n  "a" // first\n]'],
  ])('turns the list %j into %j item by item', async (list, tools, expected) => {
    const text = await edited(`{ "capabilities": { "files": { "tools": ${list} } } }`, granting('files', { tools }))
    expect(text).toBe(`{ "capabilities": { "files": { "tools": ${expected} } } }`)
  })

  it('shows references as they stand and keeps them', async () => {
    const text =
      '{\n  "title": "${TITLE}",\n  "capabilities": { "mail": { "token": "${secret:MAIL}" } },\n  "consent": { "allow": ["${OP}"] }\n}\n'
    const { agents, read } = await agentWith(text)
    const { config } = await agents.edit('a', config => {
      expect(config).toMatchObject({ title: '${TITLE}', capabilities: { mail: { token: '${secret:MAIL}' } } })
      return granting('memory', {})(config)
    })
    expect(await read('agents/a.json')).toBe(text.replace(' } },', ' }, "memory": {} },'))
    expect(config.capabilities['mail']).toEqual({ token: '${secret:MAIL}' })
  })

  it('writes nothing when nothing changes, and writes no default down', async () => {
    const text = '{ "capabilities": {}, "consent": {} }'
    const { agents, read, path } = await agentWith(text)
    const before = await stat(path('agents/a.json'))
    expect(await agents.edit('a', config => ({ ...config }))).toEqual({
      file: 'agents/a.json',
      config: { capabilities: {}, consent: { allow: [] } },
    })
    expect((await stat(path('agents/a.json'))).ino).toBe(before.ino)
    await agents.edit('a', config => ({ ...config, title: 'T' }))
    expect(await read('agents/a.json')).toBe('{ "capabilities": {}, "consent": {}, "title": "T" }')
  })

  it('refuses a file that does not parse, and leaves it as it is', async () => {
    const { agents, read } = await agentWith('{ "capabilities": {')
    const refused = agents.edit('a', config => config)
    await expect(refused).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      details: { problems: [{ where: 'agents/a.json:1:20' }] },
    })
    expect(await read('agents/a.json')).toBe('{ "capabilities": {')
  })

  it('refuses a file that is not valid, and a change that would make it so', async () => {
    const bad = await agentWith('{ "capabilities": {}, "capabilties": {} }')
    await expect(bad.agents.edit('a', config => config)).rejects.toMatchObject({ code: 'AGENT_INVALID' })
    const good = await agentWith('{ "capabilities": {} }')
    const refused = good.agents.edit('a', config => ({ ...config, consent: { allow: ['Everything'] } }))
    await expect(refused).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining('must look like "files.write"'),
    })
    expect(await good.read('agents/a.json')).toBe('{ "capabilities": {} }')
  })

  it('refuses a change that brings a forbidden name', async () => {
    const { agents, read } = await agentWith('{ "capabilities": {} }')
    const refused = agents.edit('a', granting('m', JSON.parse('{ "x": { "__proto__": { "polluted": true } } }')))
    await expect(refused).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining('"__proto__" cannot be used as a name in "x": it is a reserved word.'),
    })
    expect(await read('agents/a.json')).toBe('{ "capabilities": {} }')
    expect({}).not.toHaveProperty('polluted')
  })

  it('notices that someone else changed the file meanwhile, and keeps their text', async () => {
    const { agents, path, read } = await agentWith('{ "capabilities": {} }')
    const refused = agents.edit('a', config => {
      writeFileSync(path('agents/a.json'), '{ "capabilities": { "theirs": {} } }')
      return granting('mine', {})(config)
    })
    await expect(refused).rejects.toMatchObject({ code: 'EDIT_CONFLICT', kind: 'conflict', retry: 'later' })
    expect(await read('agents/a.json')).toBe('{ "capabilities": { "theirs": {} } }')
    expect(await readdir(path('agents'))).toEqual(['a.json'])
  })

  it('makes changes that come at once one after the other', async () => {
    const { agents, read } = await agentWith('{ "capabilities": {} }')
    await Promise.all([...'abcdef'].map(key => agents.edit('a', granting(key, {}))))
    expect(JSON.parse(await read('agents/a.json'))).toEqual({
      capabilities: { a: {}, b: {}, c: {}, d: {}, e: {}, f: {} },
    })
  })

  it('goes on after a change that failed', async () => {
    const { agents } = await agentWith('{ "capabilities": {} }')
    const failing = agents.edit('a', () => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await agents.edit('a', granting('m', {}))).config.capabilities).toEqual({ m: {} })
  })

  it.skipIf(process.platform === 'win32')('keeps the mode of the file and leaves nothing beside it', async () => {
    const { agents, path } = await agentWith('{ "capabilities": {} }')
    await chmod(path('agents/a.json'), 0o606)
    await agents.edit('a', granting('m', {}))
    expect((await stat(path('agents/a.json'))).mode & 0o777).toBe(0o606)
    expect(await readdir(path('agents'))).toEqual(['a.json'])
  })

  it.each(['../x', 'a/b', '/etc/x', '..', '', 'a.b', 'a\0'])('refuses %j as the name of an agent', async name => {
    const { agents, dir } = await agentWith(undefined)
    await expect(agents.edit(name, granting('m', {}), { create: true })).rejects.toMatchObject({
      code: 'AGENT_INVALID',
    })
    expect(await readdir(dir)).toEqual([])
  })

  it.skipIf(process.platform === 'win32')('refuses a link, which would lead out of the folder', async () => {
    const { agents, path, write, read } = await agentWith('{ "capabilities": {} }')
    await write('outside.json', '{ "capabilities": {} }')
    await symlink(path('outside.json'), path('agents/link.json'))
    await expect(agents.edit('link', granting('m', {}))).rejects.toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining('is a link'),
    })
    expect(await read('outside.json')).toBe('{ "capabilities": {} }')
  })

  it('says that there is no such agent unless it may make one', async () => {
    const { agents } = await agentWith(undefined)
    await expect(agents.edit('a', config => config)).rejects.toMatchObject({
      code: 'AGENT_NOT_FOUND',
      message: expect.stringContaining('agents/a.json'),
    })
  })

  it('makes a new agent, written for people', async () => {
    const { agents, read } = await agentWith(undefined)
    const made = await agents.edit('a', granting('files', { dirs: ['.'], tools: ['read_file'] }), { create: true })
    expect(made).toEqual({
      file: 'agents/a.json',
      config: { capabilities: { files: { dirs: ['.'], tools: ['read_file'] } } },
    })
    expect(await read('agents/a.json')).toBe(`{
  "capabilities": {
    "files": {
      "dirs": ["."],
      "tools": ["read_file"]
    }
  }
}
`)
  })

  it('points a new agent to the schema when the project has it', async () => {
    const { agents, read, write } = await agentWith(undefined)
    await write('.quartermaster/schemas/agent.schema.json', '{}')
    await agents.edit('a', config => config, { create: true })
    expect(JSON.parse(await read('agents/a.json'))).toEqual({
      $schema: '../.quartermaster/schemas/agent.schema.json',
      capabilities: {},
    })
  })
})
