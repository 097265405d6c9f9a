import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { deferred } from '../src/testing/deferred.ts'
import { createLeanClient } from './support/lean-client.ts'
import { makeProject, quartermaster, runProcess, startUp, startUpProcess, writeFiles } from './support/product.ts'

const tool = (name: string, body: string, more = '') =>
  `defineTool({ name: '${name}', short: 'x', input: { type: 'object' }, mutates: false, ${more} handler: (_, context) => { ${body} } })`

const ODD = `
  import { AppError, defineCapability, defineTool } from 'quartermaster'
  console.log('printed while loading')
  export default defineCapability({ key: 'odd', short: 'Odd.', tools: [
    ${tool('fine', `return 'fine'`)},
    ${tool('own_code', `throw new AppError('NOT_THERE', 'Gone.')`)},
    ${tool('stray', `Promise.reject(new Error('stray')); return 'ok'`)},
    ${tool('timer', `setTimeout(() => { throw new Error('late') }, 0); return 'ok'`)},
    ${tool('noisy', `console.log('noise'); return 'quiet'`)},
    ${tool('percent', `context.progress({ progress: '50%' }); return 'done'`)},
    ${tool('forever', `return new Promise(() => {})`)},
  ] })
`
const project = (more: Record<string, string> = {}) =>
  makeProject({ 'capabilities/odd.js': ODD, 'agents/default.json': '{ "capabilities": { "odd": {} } }', ...more })

describe('up', () => {
  it('outlives tools that throw odd things, forget promises and break timers', async () => {
    const dir = await project()
    const up = await startUpProcess(dir)
    const call = (name: string) => quartermaster(['call', name, '--json'], { cwd: dir })
    expect((await call('own_code')).json()).toMatchObject({ error: { code: 'INTERNAL' } })
    expect((await call('stray')).code).toBe(0)
    expect((await call('timer')).code).toBe(0)
    expect((await call('percent')).json()).toMatchObject({ result: { content: [{ text: 'done' }] } })
    expect((await call('fine')).json()).toMatchObject({ result: { content: [{ text: 'fine' }] } })
    expect(up.child.exitCode).toBeNull()
  })

  it('keeps standard output for answers, whatever project code prints', async () => {
    const dir = await project()
    const alone = await runProcess(['call', 'noisy', '--json'], { cwd: dir })
    expect(alone.json()).toMatchObject({ result: { content: [{ text: 'quiet' }] } })
    expect(alone.stderr).toContain('noise')
    const up = await startUpProcess(dir)
    expect(up.url).toMatch(/^http:/)
  })

  it('is ready with everything else while one file takes its time', async () => {
    const dir = await project({ 'capabilities/hang.js': 'await new Promise(() => {})' })
    const up = await startUpProcess(dir)
    expect((await fetch(`${up.url}/ready`)).status).toBe(200)
    const names = async () =>
      (await quartermaster(['tools', '--json'], { cwd: dir })).json<{ name: string }[]>().map(one => one.name)
    // On a busy machine every file takes its time.
    await expect.poll(names).toContain('read_file')
  })

  it('gives no agent another’s tools while permissions are still loading', async () => {
    const dir = await project()
    const made = await quartermaster(['tokens', 'create', 'default', '--json'], { cwd: dir })
    const gate = deferred()
    Object.assign(globalThis, { gateOfThisTest: gate.promise })
    await writeFiles(dir, { 'capabilities/slow.js': 'await globalThis.gateOfThisTest' })
    const starting = startUp(dir)
    const endpoint = join(dir, '.quartermaster', 'endpoint.json')
    await expect.poll(() => existsSync(endpoint)).toBe(true)
    const { url } = JSON.parse(await readFile(endpoint, 'utf8'))
    const client = createLeanClient(url, made.json<{ token: string }>().token)
    const early = [client.call('get_workspace_info', {}), client.call('fine', {})]
    // It came after them, and is answered at once.
    expect((await fetch(`${url}/health`)).status).toBe(200)
    gate.resolve()
    const [notOurs, ours] = await Promise.all(early)
    expect(notOurs).toContain('TOOL_NOT_FOUND')
    expect(ours).toContain('"text":"fine"')
    await starting
    client.close()
  })

  it('ends calls that are under way when it stops, and says so', async () => {
    const dir = await project()
    const up = await startUpProcess(dir)
    const call = quartermaster(['call', 'forever', '--json'], { cwd: dir })
    const running = async () =>
      (await quartermaster(['status', '--json'], { cwd: dir })).json<{ running: number }>().running
    await expect.poll(running).toBe(1)
    expect(await up.stop()).toBe(0)
    expect((await call).json()).toMatchObject({ error: { code: 'STOPPING' } })
  })
})

describe('a command', () => {
  const LINGERING = `
    import { defineCapability, defineTool } from 'quartermaster'
    setInterval(() => {}, 1000)
    void Promise.reject(new Error('forgotten'))
    const fine = defineTool({ name: 'fine', short: 'x', input: { type: 'object' }, mutates: false, handler: () => 'fine' })
    export default defineCapability({ key: 'odd', short: 'Odd.', tools: [fine] })`

  it('ends when it has answered, whatever project code leaves running or forgets', async () => {
    const dir = await project({ 'capabilities/odd.js': LINGERING })
    const { code, stderr, json } = await runProcess(['call', 'fine', '--json'], { cwd: dir })
    expect(json()).toMatchObject({ result: { content: [{ text: 'fine' }] } })
    expect(code).toBe(0)
    expect(stderr).toContain('forgotten')
  })

  it('and up end when asked, too', async () => {
    const dir = await project({ 'capabilities/odd.js': LINGERING })
    const up = await startUpProcess(dir)
    expect(await up.stop()).toBe(0)
  })
})
