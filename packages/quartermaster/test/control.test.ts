import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openControl } from '../src/app/control/open-control.ts'
import type { Control } from '../src/contracts/index.ts'
import { makeProject, startUp } from './support/product.ts'

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

const MATHS = `
  import { defineCapability, defineDependency, defineTool, toolFailure } from 'quartermaster'
  const input = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'], additionalProperties: false } as const
  const gone = defineDependency({ name: 'gone', probe: () => ({ up: false, reason: 'It left.' }) })
  const tools = [
    defineTool({ name: 'add', short: 'Adds.', input, mutates: false, handler: ({ a, b }) => String(a + b) }),
    defineTool({ name: 'refuse', short: 'Says no.', input: { type: 'object' }, mutates: false, handler: () => toolFailure('No.') }),
    defineTool({ name: 'absent', short: 'Needs what is gone.', input: { type: 'object' }, mutates: false, requires: ['gone'], handler: () => '' }),
    defineTool({ name: 'long', short: 'Talks a lot.', input: { type: 'object' }, mutates: false, maxResultBytes: 1024, handler: () => 'x'.repeat(1500) }),
    defineTool({ name: 'erase', short: 'Erases.', input: { type: 'object' }, consent: ['maths.erase'], handler: () => 'erased' }),
    defineTool({ name: 'steps', short: 'Tells how far it is.', input: { type: 'object' }, mutates: false, handler: (_, { progress }) => { progress({ progress: 1, total: 2 }); return 'done' } }),
    defineTool({ name: 'forever', short: 'Waits to be cancelled.', input: { type: 'object' }, mutates: false, handler: (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))) }),
  ]
  const consentOperations = [{ name: 'maths.erase', reason: 'It erases everything.', weight: 'high' as const }]
  export default defineCapability({ key: 'maths', short: 'Maths.', tools, dependencies: [gone], consentOperations })
`
const FILES = {
  'capabilities/maths.ts': MATHS,
  'agents/default.json': '{\n  // keeps its comment\n  "capabilities": { "maths": {} }\n}\n',
  'agents/bad.json': '{ "capabilities": { "mahts": {} } }',
}

interface Opened {
  control: Control
  dir: string
}

/** What every implementation of `Control` promises. */
function controlContract(name: string, open: () => Promise<Opened>): void {
  describe(`control ${name}`, () => {
    const call = (
      control: Control,
      tool: string,
      input: unknown = {},
      more: Partial<Parameters<Control['call']>[0]> = {},
    ) => control.call({ agent: 'default', tool, input, ...more })

    it('tells what runs and what is wrong', async () => {
      const { control } = await open()
      const status = await control.status({})
      expect(status).toMatchObject({ ready: true, generation: 1, agents: 2 })
      expect(status.dependencies).toMatchObject([{ name: 'gone', state: 'down', reason: 'It left.' }])
      expect(status.problems).toMatchObject([{ code: 'AGENT_INVALID', where: 'agents/bad.json' }])
    })

    it('lists tools by state, by section and by agent, and shows one whole', async () => {
      const { control } = await open()
      expect((await control.tools({ state: 'disabled' })).map(tool => tool.name)).toEqual(['absent'])
      expect((await control.tools({ section: 'files' })).length).toBe(4)
      expect((await control.tools({ agent: 'default' })).every(tool => tool.capability === 'maths')).toBe(true)
      expect(await control.tool({ name: 'add' })).toMatchObject({ mutates: false, input: { required: ['a', 'b'] } })
      await expect(control.tool({ name: 'ad' })).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    })

    it('shows capabilities and agents, and explains a bad agent', async () => {
      const { control } = await open()
      expect((await control.capabilities({})).map(capability => capability.key)).toEqual([
        'delegation',
        'files',
        'history',
        'inbox',
        'memory',
        'notes',
        'registry',
        'user',
        'maths',
      ])
      expect((await control.agents({})).map(agent => [agent.name, agent.granted])).toEqual([
        ['bad', 0],
        ['default', 6],
      ])
      const check = await control.checkAgent({ name: 'bad' })
      expect(check).toMatchObject({
        ok: false,
        problems: [{ message: expect.stringContaining('Did you mean "maths"?') }],
      })
      expect(await control.checkAgent({ name: 'default' })).toMatchObject({ ok: true })
    })

    it('calls, passes a no on, and throws what could not be run', async () => {
      const { control } = await open()
      expect((await call(control, 'add', { a: 1, b: 2 })).result.content).toEqual([{ type: 'text', text: '3' }])
      expect((await call(control, 'refuse')).result.isError).toBe(true)
      await expect(call(control, 'add', { a: 'x' })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
      await expect(call(control, 'absent')).rejects.toMatchObject({
        code: 'TOOL_DISABLED',
        details: { missing: [{ dependency: 'gone' }] },
      })
      await expect(control.call({ agent: 'nobody', tool: 'add' })).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
      await expect(call(control, 'read_file')).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    })

    it('reads a cut result to its end', async () => {
      const { control } = await open()
      const { kept } = await call(control, 'long')
      const page = await control.readResult({
        agent: 'default',
        resultId: kept?.resultId ?? '',
        offset: kept?.nextOffset ?? 0,
      })
      expect(page).toMatchObject({ text: 'x'.repeat(476), totalBytes: 1500 })
      expect(page.nextOffset).toBeUndefined()
    })

    it('takes the owner’s answer for exactly the arguments that were shown', async () => {
      const { control } = await open()
      const error = await call(control, 'erase').catch((reason: unknown) => reason)
      expect(error).toMatchObject({
        code: 'CONSENT_REQUIRED',
        details: { operations: [{ name: 'maths.erase', weight: 'high' }] },
      })
      const { digest } = (error as { details: { digest: string } }).details
      const consented = { operations: ['maths.erase'], digest }
      expect((await call(control, 'erase', {}, { consented })).result.content).toEqual([
        { type: 'text', text: 'erased' },
      ])
      await expect(call(control, 'erase', { all: true }, { consented })).rejects.toMatchObject({
        code: 'CONSENT_REQUIRED',
      })
    })

    it('passes progress on and cancels', async () => {
      const { control } = await open()
      const progress: unknown[] = []
      await control.call({ agent: 'default', tool: 'steps' }, { onProgress: update => progress.push(update) })
      expect(progress).toEqual([{ progress: 1, total: 2 }])
      const controller = new AbortController()
      const cancelled = control.call({ agent: 'default', tool: 'forever' }, { signal: controller.signal })
      setImmediate(() => controller.abort())
      await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' })
    })

    it('grants in the agent’s file, keeps its comments, and refuses what would not resolve', async () => {
      const { control, dir } = await open()
      const { check } = await control.grant({
        agent: 'default',
        capability: 'files',
        config: { dirs: ['.'] },
        tools: ['read_file'],
        consent: ['files.write'],
      })
      expect(check.report).toContainEqual({ capability: 'files', tool: 'read_file', state: 'granted' })
      const text = await readFile(join(dir, 'agents', 'default.json'), 'utf8')
      expect(text).toContain('// keeps its comment')
      expect(text).toContain('"read_file"')
      await expect(control.grant({ agent: 'default', capability: 'files', tools: ['rm'] })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      })
      await expect(control.grant({ agent: 'default', capability: 'fils' })).rejects.toMatchObject({
        code: 'CAPABILITY_UNKNOWN',
      })
      expect(await readFile(join(dir, 'agents', 'default.json'), 'utf8')).toBe(text)
      const revoked = await control.grant({ agent: 'default', capability: 'maths', revoke: true })
      expect(revoked.agent.capabilities).not.toHaveProperty('maths')
      const made = await control.grant({ agent: 'fresh', capability: 'maths', tools: ['add'], create: true })
      expect(made.check).toMatchObject({ ok: true, report: [{ tool: 'add', state: 'granted' }] })
    })

    it('rechecks, reloads and diagnoses', async () => {
      const { control } = await open()
      expect(await control.recheck({ name: 'absent' })).toMatchObject({ active: false, probed: ['gone'] })
      expect(await control.reload({})).toMatchObject({ generation: 1, added: [] })
      const findings = await control.doctor({})
      expect(findings.filter(finding => finding.level === 'error')).toMatchObject([
        { where: 'agents/bad.json' },
        { what: expect.stringContaining('"gone" is down') },
      ])
    })
  })
}

controlContract('in process', async () => {
  const dir = await makeProject(FILES)
  const { control, from, close } = await openControl({ from: dir, env: {}, log, ownsProcess: false })
  onTestFinished(close)
  if (from !== 'process') throw new Error('an up answered')
  return { control, dir }
})

controlContract('over HTTP', async () => {
  const dir = await makeProject(FILES)
  await startUp(dir)
  const { control, from, close } = await openControl({ from: dir, env: {}, log, ownsProcess: false })
  onTestFinished(close)
  if (from !== 'up') throw new Error('no up answered')
  return { control, dir }
})
