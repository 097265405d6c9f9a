import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeProject, quartermaster, startUp } from './support/product.ts'

interface Finding {
  level: string
  what: string
  where?: string
  fix?: string
}

async function findings(files: Record<string, string>): Promise<{ code: number | null; errors: Finding[] }> {
  const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }', ...files })
  const { code, json } = await quartermaster(['doctor', '--json'], { cwd: dir })
  return { code, errors: json<Finding[]>().filter(finding => finding.level !== 'ok') }
}

const capability = (parts: string, more = '') => `
  import { defineCapability, defineDependency, defineTool } from 'quartermaster'
  import { program } from 'quartermaster/probes'
  ${more}
  export default defineCapability({ key: 'mine', short: 'Mine.', ${parts} })`

describe('doctor', () => {
  it('is content with a healthy project', async () => {
    expect(await findings({})).toEqual({ code: 0, errors: [] })
  })

  it('makes no store where there is none, and says that there is none', async () => {
    const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }' })
    for (const _time of ['first', 'second'])
      expect((await quartermaster(['doctor'], { cwd: dir })).stdout).toContain('The store is not made yet.')
    expect(await readdir(dir)).not.toContain('.quartermaster')
  })

  it('finds a broken definition, with its file and field', async () => {
    const tools = `tools: [defineTool({ name: 't', short: 'x', input: { type: 'object' }, retry: 'always', handler: () => '' })]`
    const { code, errors } = await findings({ 'capabilities/mine.js': capability(tools) })
    expect(code).toBe(1)
    expect(errors).toMatchObject([{ where: 'capabilities/mine.js', what: expect.stringContaining('retry') }])
  })

  it('finds a file that does not read, with the place', async () => {
    const { code, errors } = await findings({ 'capabilities/mine.js': 'export default {\n' })
    expect(code).toBe(1)
    expect(errors).toMatchObject([
      { what: expect.stringContaining('capabilities/mine.js:2:1'), fix: expect.any(String) },
    ])
  })

  const gone = `const gone = defineDependency({ name: 'gone', probe: program({ command: 'no-such-program' }), fix: 'Install it.' })`
  const needing = (name: string) =>
    `defineTool({ name: 't', short: 'x', input: { type: 'object' }, requires: ['${name}'], mutates: false, handler: () => '' })`

  it('finds a missing program, and says how to fix it', async () => {
    const { code, errors } = await findings({
      'capabilities/mine.js': capability(`tools: [${needing('gone')}], dependencies: [gone]`, gone),
    })
    expect(code).toBe(1)
    expect(errors).toMatchObject([
      { level: 'error', what: expect.stringContaining('"no-such-program" is not on the PATH'), fix: 'Install it.' },
    ])
  })

  it('counts what disables nothing as a warning, but not what something needs in the end', async () => {
    const optional = capability('tools: [], dependencies: [gone]', gone)
    expect(await findings({ 'capabilities/mine.js': optional })).toMatchObject({
      code: 0,
      errors: [
        { level: 'warning', what: expect.stringContaining('is down, which disables nothing'), fix: 'Install it.' },
      ],
    })
    const child = `${gone}\nconst child = defineDependency({ name: 'child', dependsOn: ['gone'], probe: () => true })`
    const needed = capability(`tools: [${needing('child')}], dependencies: [gone, child]`, child)
    const { code, errors } = await findings({ 'capabilities/mine.js': needed })
    expect([code, errors.map(({ level }) => level)]).toEqual([1, ['error', 'error']])
  })

  it('is content with notes that go by disk while Obsidian is closed', async () => {
    const rest = { url: 'https://127.0.0.1:1', secret: 'OBSIDIAN_KEY' }
    const agent = JSON.stringify({ capabilities: { notes: { vault: 'vault', rest } } })
    const { code, errors } = await findings({ 'agents/default.json': agent, 'vault/One.md': 'One.\n' })
    expect(code).toBe(0)
    expect(errors).toMatchObject([{ level: 'warning', what: expect.stringContaining('"obsidian" is down') }])
  })

  it('finds a variable that is not set, although nothing else can be read then', async () => {
    const config = '{ "settings": { "logLevel": "${env:NO_SUCH_VARIABLE}" } }'
    const { code, errors } = await findings({ 'quartermaster.config.json': config })
    expect(code).toBe(1)
    expect(errors).toMatchObject([
      {
        where: expect.stringContaining('quartermaster.config.json:1:'),
        what: expect.stringContaining('NO_SUCH_VARIABLE'),
      },
    ])
  })

  it('finds an example that its own tool would refuse', async () => {
    const tools = `tools: [defineTool({ name: 't', short: 'x', input: { type: 'object', required: ['a'] }, mutates: false,
      examples: [{ query: 'all', input: {} }], handler: () => '' })]`
    const { code, errors } = await findings({ 'capabilities/mine.js': capability(tools) })
    expect(code).toBe(0)
    expect(errors).toMatchObject([{ level: 'warning', what: expect.stringContaining('"all"') }])
  })

  it('counts an agent among those that are fine only if nothing is wrong with its file', async () => {
    const broken = { 'agents/broken.json': '{ "capabilities": { "nope": {} } }' }
    const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }', ...broken })
    const { code, stdout } = await quartermaster(['doctor'], { cwd: dir })
    expect(code).toBe(1)
    expect(stdout).toContain('✗ There is no capability "nope". (agents/broken.json)')
    expect(stdout).toContain('✓ Agents: default.\n')
    const alone = await quartermaster(['doctor'], { cwd: await makeProject(broken) })
    expect(alone.stdout).not.toContain('Agents:')
  })

  it('looks at the secrets file as it is now, also while `up` runs with what it read before', async () => {
    const dir = await makeProject({ 'agents/default.json': '{ "capabilities": {} }' })
    await startUp(dir)
    const file = join(dir, '.quartermaster', 'secrets.json')
    const look = async (text: string, mode: number) => {
      await writeFile(file, text)
      await chmod(file, mode)
      const { code, json } = await quartermaster(['doctor', '--json'], { cwd: dir })
      return { code, errors: json<Finding[]>().filter(finding => finding.level !== 'ok') }
    }
    expect(await look('{ "KEY": "hush" }', 0o600)).toEqual({ code: 0, errors: [] })
    expect(await look('', 0o600)).toMatchObject({ code: 1, errors: [{ where: expect.stringContaining(file) }] })
    if (process.platform === 'win32') return
    expect(await look('{ "KEY": "hush" }', 0o644)).toMatchObject({
      code: 1,
      errors: [{ what: expect.stringContaining('mode 644'), fix: expect.stringContaining('chmod 600') }],
    })
  })
})
