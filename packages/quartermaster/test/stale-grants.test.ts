import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createQuartermaster } from '../src/index.ts'
import { GREETER } from './support/greeter.ts'
import { makeProject, quartermaster, writeFiles } from './support/product.ts'
import { onFixture } from './support/upstream-fixture.ts'

const CAPABILITY = (key: string) => `
  import { defineCapability, defineTool } from 'quartermaster'
  const tool = name => defineTool({ name, short: 'Does ' + name, input: { type: 'object' }, mutates: false, handler: () => name })
  export default defineCapability({ key: '${key}', short: 'For tests.', tools: [tool('${key}_a'), tool('${key}_b')] })
`

const project = (capabilities: unknown, files: Record<string, string> = {}) =>
  makeProject({
    'capabilities/one.ts': CAPABILITY('one'),
    'capabilities/two.ts': CAPABILITY('two'),
    'agents/default.json': JSON.stringify({ capabilities }),
    ...files,
  })

const WRONG = {
  one: { tools: ['one_a', 'one_bb'] },
  gone: {},
  two: { tools: 'two_a' },
  files: { dirs: ['${env:NEVER_SET_ANYWHERE}'] },
  history: {},
}

/** Without line breaks of tables and escapes of JSON. */
const plain = (text: string) => text.replace(/\s+/g, ' ').replaceAll('\\"', '"')

describe('an agent whose file asks for what is not there', () => {
  it('has everything else, and its client, the checks and the owner read why', async () => {
    const fixture = await onFixture(await project(WRONG))
    const client = await fixture.connect()
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(['chat_history', 'one_a'])
    const texts = [
      'Capability "one" has no tool "one_bb". Did you mean "one_b"?',
      'There is no capability "gone".',
      'Expected a list, found text.',
      'NEVER_SET_ANYWHERE',
    ]
    const check = await fixture.run('agents', 'check', 'default')
    expect(check.code).toBe(1)
    const status = await fixture.control<{ problems: { message: string }[] }>('status')
    const { stdout: doctor } = await fixture.run('doctor')
    const told = [client.getInstructions() ?? '', check.stdout, JSON.stringify(status.problems), doctor].map(plain)
    for (const text of texts) for (const one of told) expect(one).toContain(text)
  })

  it('is named in the log and in the answer of a reload that took something away', async () => {
    const dir = await project({ one: {}, two: { tools: ['two_a'] } })
    const fixture = await onFixture(dir)
    await rm(join(dir, 'capabilities', 'one.ts'))
    const reload = await fixture.run('reload')
    expect(reload.stdout).toContain('There is no capability "one".')
    await expect.poll(() => plain(fixture.up.stderr())).toContain('There is no capability "one".')
    await writeFiles(dir, { 'capabilities/two.ts': CAPABILITY('two').replace("tool('two_a'), ", '') })
    await expect
      .poll(() => plain(fixture.up.stderr()))
      .toContain('Capability "two" has no tool "two_a". Did you mean "two_b"?')
  })

  it('loses a server that is removed and nothing else, also when its file cannot be changed', async () => {
    const config = { mcpServers: { greeter: { command: process.execPath, args: ['greeter.mjs'] } } }
    const dir = await project(
      { one: {}, greeter: {}, two: { tools: 'two_a' } },
      { 'quartermaster.config.json': JSON.stringify(config), 'greeter.mjs': GREETER },
    )
    const fixture = await onFixture(dir)
    const removed = await fixture.run('remove', 'greeter')
    expect(removed.code).toBe(1)
    expect(`${removed.stdout}${removed.stderr}`.replace(/\s+/g, ' ')).toContain('whose file still names it')
    const client = await fixture.connect()
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['one_a', 'one_b']))
    expect(client.getInstructions()).toContain('There is no capability "greeter".')
  })

  it('has no tools at all when the file cannot be read as JSON', async () => {
    const dir = await project({}, { 'agents/default.json': '{ "capabilities": { "one": {} ' })
    expect((await quartermaster(['agents', 'check', 'default', '--json'], { cwd: dir })).json()).toMatchObject({
      ok: false,
      report: [],
    })
  })

  it.each([
    ['a capability that does not exist', { gone: {} }, 'CAPABILITY_UNKNOWN'],
    ['a tool that does not exist', { one: { tools: ['one_c'] } }, 'CONFIG_INVALID'],
    ['a configuration that does not read', { one: { tools: 'one_a' } }, 'CONFIG_INVALID'],
  ])('is refused in the library for %s', async (_what, wrong, code) => {
    const dir = await project({ two: {}, ...wrong })
    const qm = await createQuartermaster({ dir })
    try {
      const context = qm.contextFor('default')
      expect(() => qm.toolbox('default')).toThrow(expect.objectContaining({ code }))
      expect(() => qm.resolve({ two: {}, ...wrong } as never, context)).toThrow(expect.objectContaining({ code }))
    } finally {
      await qm.stop()
    }
  })
})
