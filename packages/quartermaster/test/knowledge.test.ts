import { describe, expect, it } from 'vitest'
import { makeProject, quartermaster, startUp, writeFiles } from './support/product.ts'

const PEOPLE = '---\nkind: concept\ntitle: People\n---\n# Who is who\n\nAda decides about zeppelins.\n'
const RELEASING = [
  '---',
  'kind: directions',
  'title: Releasing',
  'summary: How a version goes out.',
  'whenToUse: When a version is ready.',
  'command: release',
  'tools: [read_file]',
  '---',
  '',
  'Tag it. Ask [people](../people.md#who-is-who).',
  '',
  '{{include: people}}',
  '',
].join('\n')
const FILES = {
  'agents/ada.json': '{ "capabilities": { "files": { "dirs": ["."], "tools": ["read_file"] } } }',
  'agents/bob.json': '{ "capabilities": { "registry": {} } }',
  'knowledge/people.md': PEOPLE,
  'knowledge/guides/releasing.md': RELEASING,
}

interface Answer {
  entries: { path: string; state?: string; score?: number }[]
  text?: string
}

/** What the command line answers in a folder. */
function reader(cwd: string) {
  return async (...args: string[]) => (await quartermaster(['docs', ...args, '--json'], { cwd })).json<Answer>()
}

const pathsOf = ({ entries }: Answer) => entries.map(({ path }) => path)

describe('knowledge of a project', () => {
  it('is read to the owner whole, and as an agent sees it', async () => {
    const cwd = await makeProject(FILES)
    await startUp(cwd)
    const docs = reader(cwd)
    const all = ['guides/releasing', 'people', 'capability:files', 'tool:write_file', 'tool:registry_reload']
    expect(pathsOf(await docs())).toEqual(expect.arrayContaining(all))
    expect(pathsOf(await docs('who', 'decides', 'about', 'zeppelins'))[0]).toBe('people')
    const bobs = pathsOf(await docs('--agent', 'bob'))
    expect(bobs).toEqual(expect.arrayContaining(['people', 'capability:registry', 'tool:registry_reload']))
    expect(bobs).not.toContain('guides/releasing')
    expect(bobs).not.toContain('tool:read_file')
    const unknown = await quartermaster(['docs', '--path', 'peple'], { cwd })
    expect(unknown).toMatchObject({ code: 4, stderr: expect.stringContaining('Did you mean "people"?') })
    const checked = await quartermaster(['docs', 'check', '--strict'], { cwd })
    expect(checked).toMatchObject({ code: 0, stdout: expect.stringContaining('no problems') })
  })

  it('is read and checked without an up: all that is wrong, with file and line, and doctor tells it too', async () => {
    const cwd = await makeProject({
      ...FILES,
      'knowledge/people.md': PEOPLE.replace('# Who is who', '# Everybody'),
      'knowledge/short.md': '---\nkind: directions\ntitle: Short\ncommand: No Word\n---\n',
      'knowledge/main/tool.md': '---\nschema: 1\nop: op.no.such\nname: x\nshort: X.\n---\n',
    })
    const { stdout: page } = await quartermaster(['docs', 'knowledge/guides/releasing.md'], { cwd })
    expect(page).toContain('Ada decides about zeppelins.')
    const { code, stdout } = await quartermaster(['docs', 'check'], { cwd })
    expect(code).toBe(1)
    expect(stdout).toMatch(/knowledge\/guides\/releasing\.md:10 .* leads to no heading of "people"/)
    for (const field of ['summary', 'whenToUse']) expect(stdout).toMatch(new RegExp(`knowledge/short\\.md .* ${field}`))
    expect(stdout).toMatch(/knowledge\/short\.md:4 .* command/)
    expect(stdout).toMatch(/knowledge\/main\/tool\.md:3 .*op\.no\.such/)
    const doctor = await quartermaster(['doctor'], { cwd })
    expect(doctor.stdout).toContain('leads to no heading of "people"')
  })

  it('is not called well where the whole of it cannot be read', async () => {
    const cwd = await makeProject({ knowledge: 'a file, and no folder' })
    const { code, stdout } = await quartermaster(['docs', 'check', '--strict'], { cwd })
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('Make it a readable folder') })
  })

  it('is picked up by an up when it is edited, and reload forces it', async () => {
    const cwd = await makeProject(FILES)
    await startUp(cwd)
    const docs = reader(cwd)
    expect(pathsOf(await docs('zeppelins'))[0]).toBe('people')
    await writeFiles(cwd, { 'knowledge/people.md': PEOPLE.replace('zeppelins', 'balloons') })
    await expect.poll(async () => pathsOf(await docs('balloons'))[0]).toBe('people')
    expect(pathsOf(await docs('zeppelins'))).not.toContain('people')
    await writeFiles(cwd, { 'knowledge/people.md': PEOPLE.replace('zeppelins', 'kites') })
    await quartermaster(['reload'], { cwd })
    expect(pathsOf(await docs('kites'))[0]).toBe('people')
    const call = ['call', 'read_docs', '--agent', 'ada', 'path=guides/releasing']
    expect((await quartermaster(call, { cwd })).stdout).toContain('Ada decides about kites.')
  })
})
