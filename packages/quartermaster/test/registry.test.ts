import { describe, expect, it, onTestFinished } from 'vitest'
import {
  AppError,
  createQuartermaster,
  defineCapability,
  defineDependency,
  defineTool,
  type ProbeVerdict,
} from '../src/index.ts'
import { makeProject, writeFiles } from './support/product.ts'

/** A service that a test switches; it counts how often it was looked at. */
function service(name: string, verdict: ProbeVerdict = { up: true }) {
  const state = { verdict, probes: 0 }
  const probe = async () => {
    state.probes++
    return state.verdict
  }
  return Object.assign(state, { dependency: defineDependency({ name, probe }) })
}
const DOWN = { up: false, reason: 'It left.' } as const

const tool = (name: string, requires: string[], handler: () => unknown = () => name) =>
  defineTool({ name, short: 'x', input: { type: 'object' }, mutates: false, requires, handler })

async function open(
  tools: ReturnType<typeof tool>[],
  services: ReturnType<typeof service>[],
  files: Record<string, string> = {},
) {
  const dir = await makeProject({
    'agents/worker.json': '{ "capabilities": { "main": {} } }',
    'quartermaster.config.json': '{ "settings": { "recoveringSeconds": 5 } }',
    ...files,
  })
  const dependencies = services.map(one => one.dependency)
  const main = defineCapability({ key: 'main', short: 'x', tools, dependencies })
  const quartermaster = await createQuartermaster({ dir, env: {}, capabilities: [main] })
  onTestFinished(() => quartermaster.stop())
  const active = () => quartermaster.tools({ section: 'main', state: 'active' }).map(one => one.name)
  const call = (name: string) => quartermaster.call({ agent: 'worker', tool: name })
  return { dir, quartermaster, active, call }
}

describe('the registry', () => {
  it('restores every tool that a recovered dependency served, with one probe for fifty who ask', async () => {
    const mail = service('mail', DOWN)
    const { quartermaster, active } = await open([tool('a', ['mail']), tool('b', ['mail'])], [mail])
    expect(active()).toEqual([])
    mail.verdict = { up: true }
    const before = mail.probes
    await Promise.all(Array.from({ length: 50 }, () => quartermaster.recheck('a')))
    expect(mail.probes - before).toBe(1)
    expect(active()).toEqual(['a', 'b'])
  })

  it('tells what is still missing when only a part came back', async () => {
    const [mail, disk] = [service('mail', DOWN), service('disk', DOWN)]
    const { quartermaster } = await open([tool('both', ['mail', 'disk'])], [mail, disk])
    mail.verdict = { up: true }
    expect(await quartermaster.recheck('both')).toMatchObject({ active: false, missing: [{ dependency: 'disk' }] })
    expect(quartermaster.disabled().map(one => one.missing.map(entry => entry.dependency))).toEqual([['disk']])
  })

  it('keeps a tool listed while its dependency recovers, and lets calls wait for it', async () => {
    const mail = service('mail')
    let isBroken = true
    const send = tool('send', ['mail'], () => {
      if (isBroken) throw new AppError('DEPENDENCY_UNAVAILABLE', 'It hung up.', { details: { dependency: 'mail' } })
      return 'sent'
    })
    const { quartermaster, active, call } = await open([send], [mail])
    mail.verdict = DOWN
    await expect(call('send')).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(quartermaster.dependency('mail').state).toBe('recovering')
    expect(active()).toEqual(['send'])
    isBroken = false
    const waiting = call('send')
    mail.verdict = { up: true }
    expect((await waiting).result.content).toEqual([{ type: 'text', text: 'sent' }])
    expect(quartermaster.dependency('mail').state).toBe('up')
  })

  it('ends a probe that hangs, takes one that throws for no verdict, and never asks one that is switched off', async () => {
    const off = service('off')
    const hanging = defineDependency({ name: 'hanging', probe: () => new Promise<boolean>(() => {}), timeoutMs: 50 })
    const throwing = defineDependency({
      name: 'throwing',
      probe() {
        throw new Error('socket hang up')
      },
    })
    const config = '{ "dependencies": { "off": { "enabled": false } } }'
    const tools = [tool('a', ['hanging']), tool('b', ['throwing']), tool('c', ['off']), tool('d', [])]
    const services = [off, { dependency: hanging }, { dependency: throwing }] as ReturnType<typeof service>[]
    const { quartermaster, active } = await open(tools, services, { 'quartermaster.config.json': config })
    expect(active()).toEqual(['d'])
    expect(quartermaster.dependency('hanging')).toMatchObject({
      state: 'unknown',
      reason: 'It did not answer within 50 ms.',
    })
    expect(quartermaster.dependency('throwing')).toMatchObject({
      state: 'unknown',
      reason: 'Its probe failed: socket hang up',
    })
    await quartermaster.recheck('c', { force: true })
    expect([off.probes, quartermaster.dependency('off').state]).toEqual([0, 'optedOut'])
  })

  it('looks at a child when its parent is back, and not before', async () => {
    const parent = service('network', DOWN)
    const child = { ...service('mail'), probes: 0 }
    child.dependency = defineDependency({ name: 'mail', dependsOn: ['network'], probe: () => ++child.probes > 0 })
    const { quartermaster, active } = await open([tool('send', ['mail'])], [parent, child])
    expect(child.probes).toBe(0)
    expect(quartermaster.disabled()[0]?.missing).toMatchObject([
      { dependency: 'mail', reason: 'It needs "network": It left.' },
    ])
    parent.verdict = { up: true }
    expect(await quartermaster.recheck('send')).toMatchObject({ active: true, probed: ['network', 'mail'] })
    expect(active()).toEqual(['send'])
  })

  it('takes down what does not come back, and wants several good probes from what flapped', async () => {
    const mail = service('mail')
    const fails = () => {
      throw new AppError('DEPENDENCY_UNAVAILABLE', 'It hung up.', { details: { dependency: 'mail' } })
    }
    const config = '{ "settings": { "recoveringSeconds": 0, "recheckCooldownSeconds": 0 } }'
    const { quartermaster, call } = await open([tool('send', ['mail'], fails)], [mail], {
      'quartermaster.config.json': config,
    })
    const state = () => quartermaster.dependency('mail').state
    const fall = async () => {
      await expect(call('send')).rejects.toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
      mail.verdict = DOWN
      await expect.poll(state).toBe('down')
      mail.verdict = { up: true }
    }
    await fall()
    await expect.poll(async () => (await quartermaster.recheck('send')).active).toBe(true)
    await fall()
    expect(await quartermaster.recheck('send')).toMatchObject({
      active: false,
      missing: [{ reason: expect.stringContaining('1 of 3 good probes') }],
    })
    await expect.poll(state).toBe('up')
  })

  it('lets a call in flight finish on what it started with, with two reloads at once', async () => {
    const file = (answer: string) => `
      import { defineCapability, defineTool } from 'quartermaster'
      globalThis.gates ??= []
      const handler = () => new Promise(resolve => globalThis.gates.push(() => resolve('${answer}')))
      const slow = defineTool({ name: 'slow', short: 'x', input: { type: 'object' }, mutates: false, handler })
      export default defineCapability({ key: 'slow', short: 'x', tools: [slow] })`
    const { dir, quartermaster, call } = await open([], [], {
      'capabilities/slow.js': file('old'),
      'agents/worker.json': '{ "capabilities": { "slow": {} } }',
    })
    const gates = (globalThis as { gates?: (() => void)[] }).gates ?? []
    const first = call('slow')
    await expect.poll(() => gates.length).toBe(1)
    await writeFiles(dir, { 'capabilities/slow.js': file('new') })
    const [one, two] = await Promise.all([quartermaster.reload(), quartermaster.reload()])
    // The second may come to its turn when the first is done, and then finds nothing more to change.
    expect([...one.changed, ...two.changed]).toContain('tool:slow')
    const second = call('slow')
    await expect.poll(() => gates.length).toBe(2)
    for (const open of gates) open()
    expect((await first).result.content).toEqual([{ type: 'text', text: 'old' }])
    expect((await second).result.content).toEqual([{ type: 'text', text: 'new' }])
  })
})
