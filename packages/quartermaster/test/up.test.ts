import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isReached, OTHER_ADDRESS } from '../src/testing/network-address.ts'
import { makeProject, quartermaster, startUp, startUpProcess, writeFiles } from './support/product.ts'

const AGENT = JSON.stringify({ capabilities: { clock: {} } })

/** A capability whose one tool needs a file that tests create and delete. */
const clock = (answer = 'tick') => `
  import { defineCapability, defineDependency, defineTool } from 'quartermaster'
  import { path } from 'quartermaster/probes'
  const feed = defineDependency({ name: 'feed', probe: path({ path: new URL('../feed.txt', import.meta.url).pathname }), fix: 'Create feed.txt.' })
  const now = defineTool({ name: 'now', short: 'Tells the time.', input: { type: 'object' }, mutates: false, requires: ['feed'], handler: () => '${answer}' })
  export default defineCapability({ key: 'clock', short: 'A clock.', tools: [now], dependencies: [feed] })
`
const projectWithClock = (more: Record<string, string> = {}) =>
  makeProject({ 'capabilities/clock.ts': clock(), 'agents/default.json': AGENT, 'feed.txt': '', ...more })

describe('up', () => {
  it('answers health and readiness, and takes commands of the folder’s owner', async () => {
    const dir = await projectWithClock()
    const up = await startUp(dir)
    expect(await (await fetch(`${up.url}/health`)).json()).toMatchObject({ status: 'ok' })
    expect((await fetch(`${up.url}/ready`)).status).toBe(200)
    const status = await quartermaster(['status', '--json'], { cwd: dir })
    expect(status.json()).toMatchObject({ from: 'up', ready: true, agents: 1 })
    expect((await quartermaster(['call', 'now'], { cwd: dir })).stdout).toContain('tick')
  })

  it('is reached from this machine alone unless --host says otherwise', async () => {
    const portOf = async (...args: string[]) => Number(new URL((await startUp(await makeProject(), args)).url).port)
    const own = await portOf()
    expect([await isReached('127.0.0.1', own), await isReached(OTHER_ADDRESS, own)]).toEqual([true, false])
    expect(await isReached(OTHER_ADDRESS, await portOf('--host', '0.0.0.0'))).toBe(true)
  })

  it('refuses requests without the credential, which only the owner can read', async () => {
    const dir = await projectWithClock()
    const up = await startUp(dir)
    const post = (headers: Record<string, string>) =>
      fetch(`${up.url}/api/v1/control/status`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', ...headers },
      })
    expect((await post({})).status).toBe(401)
    expect((await post({ authorization: 'Bearer wrong' })).status).toBe(401)
    const tokenFile = join(dir, '.quartermaster', 'admin-token')
    expect((await stat(tokenFile)).mode & 0o077).toBe(0)
    const token = (await readFile(tokenFile, 'utf8')).trim()
    expect((await post({ authorization: `Bearer ${token}` })).status).toBe(200)
    expect((await post({ authorization: `Bearer ${token}`, origin: 'https://evil.example' })).status).toBe(403)
  })

  it('owns its folder alone, and tells the second one whom to ask', async () => {
    const dir = await projectWithClock()
    const up = await startUp(dir)
    const second = await quartermaster(['up', '--port', '0'], { cwd: dir })
    expect(second.code).not.toBe(0)
    expect(second.stderr).toContain(up.url)
    expect(second.stderr).toContain('STORE_LOCKED')
  })

  it('answers the commands that come while it starts', async () => {
    const dir = await projectWithClock()
    const starting = startUp(dir)
    const asked = Array.from({ length: 3 }, () => quartermaster(['tokens', '--json'], { cwd: dir }))
    await starting
    expect((await Promise.all(asked)).map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      asked.map(() => ({ code: 0, stderr: '' })),
    )
  })

  it('stops cleanly and leaves the folder free', async () => {
    const dir = await projectWithClock()
    const up = await startUp(dir)
    expect(await up.stop()).toBe(0)
    expect((await quartermaster(['status', '--json'], { cwd: dir })).json()).toMatchObject({ from: 'process' })
    await startUp(dir)
  })

  it('is free again after it was killed', async () => {
    const dir = await projectWithClock()
    const up = await startUpProcess(dir)
    await up.kill()
    expect((await quartermaster(['status', '--json'], { cwd: dir })).json()).toMatchObject({ from: 'process' })
    await startUp(dir)
  })

  it('is ready although a probe hangs and a file is broken', async () => {
    const hanging = `
      import { defineCapability, defineDependency, defineTool } from 'quartermaster'
      const silent = defineDependency({ name: 'silent', probe: () => new Promise(() => {}) })
      const linger = defineTool({ name: 'linger', short: 'Waits.', input: { type: 'object' }, requires: ['silent'], handler: () => '' })
      export default defineCapability({ key: 'waiting', short: 'Waits.', tools: [linger], dependencies: [silent] })`
    const dir = await projectWithClock({
      'capabilities/waiting.ts': hanging,
      'capabilities/broken.ts': 'export default {',
    })
    const up = await startUp(dir)
    expect((await fetch(`${up.url}/ready`)).status).toBe(200)
    const status = (await quartermaster(['status', '--json'], { cwd: dir })).json<{ problems: { where: string }[] }>()
    expect(status.problems.map(problem => problem.where)).toEqual([expect.stringContaining('capabilities/broken.ts')])
    expect((await quartermaster(['call', 'now'], { cwd: dir })).stdout).toContain('tick')
  })
})

describe('a dependency that goes and comes back', () => {
  it('disables its tool with the reason, and the next call after fixing runs', async () => {
    const dir = await projectWithClock()
    await rm(join(dir, 'feed.txt'))
    await startUp(dir, [], { QUARTERMASTER_RECHECK_COOLDOWN_SECONDS: '0' })
    const refused = await quartermaster(['call', 'now', '--json'], { cwd: dir })
    expect(refused.code).not.toBe(0)
    expect(refused.json()).toMatchObject({
      error: {
        code: 'TOOL_DISABLED',
        details: { missing: [{ dependency: 'feed', state: 'down', fix: 'Create feed.txt.' }] },
      },
    })
    const listed = (await quartermaster(['tools', '--state', 'disabled', '--json'], { cwd: dir })).json<
      { name: string }[]
    >()
    expect(listed.map(tool => tool.name)).toEqual(['now'])
    await writeFile(join(dir, 'feed.txt'), '')
    expect((await quartermaster(['call', 'now'], { cwd: dir })).stdout).toContain('tick')
  })

  it('is run anyway when told to', async () => {
    const dir = await projectWithClock()
    await rm(join(dir, 'feed.txt'))
    await startUp(dir)
    expect((await quartermaster(['call', 'now', '--even-if-disabled'], { cwd: dir })).stdout).toContain('tick')
  })

  it('is left alone when the owner switched it off', async () => {
    const dir = await projectWithClock({
      'quartermaster.config.json': '{ "dependencies": { "feed": { "enabled": false } } }',
    })
    await startUp(dir)
    const answer = (await quartermaster(['recheck', 'now', '--force', '--json'], { cwd: dir })).json()
    expect(answer).toMatchObject({ active: false, probed: [], missing: [{ state: 'optedOut' }] })
  })
})

describe('reload', () => {
  const unwatched = { 'quartermaster.config.json': '{ "settings": { "watchFiles": false } }' }

  it('brings changed code, an edited helper, a new tool and a changed schema', async () => {
    const dir = await projectWithClock({
      ...unwatched,
      'capabilities/greet/index.ts': `
        import { defineCapability, defineTool } from 'quartermaster'
        import { word } from './word.ts'
        const greet = defineTool({ name: 'greet', short: 'Greets.', input: { type: 'object' }, mutates: false, handler: () => word })
        export default defineCapability({ key: 'greet', short: 'Greets.', tools: [greet] })`,
      'capabilities/greet/word.ts': `export const word = 'hello'`,
      'agents/default.json': JSON.stringify({ capabilities: { clock: {}, greet: {} } }),
    })
    await startUp(dir)
    const call = async (...args: string[]) => (await quartermaster(['call', ...args], { cwd: dir })).stdout.trim()
    expect(await call('greet')).toBe('hello')
    await writeFiles(dir, {
      'capabilities/greet/word.ts': `export const word = 'good day'`,
      'capabilities/clock.ts': clock('tock'),
    })
    const before = (await quartermaster(['status', '--json'], { cwd: dir })).json() as { generation: number }
    const report = (await quartermaster(['reload', '--json'], { cwd: dir })).json()
    expect(report).toMatchObject({ generation: before.generation + 1, added: [], removed: [], rejected: [] })
    expect(await call('greet')).toBe('good day')
    expect(await call('now')).toBe('tock')
    await writeFiles(dir, {
      'capabilities/shout.ts': `
        import { defineCapability, defineTool } from 'quartermaster'
        const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const
        const shout = defineTool({ name: 'shout', short: 'Shouts.', input, mutates: false, handler: ({ text }) => text.toUpperCase() })
        export default defineCapability({ key: 'shout', short: 'Shouts.', tools: [shout] })`,
      'agents/default.json': JSON.stringify({ capabilities: { clock: {}, shout: {} } }),
    })
    expect((await quartermaster(['reload', '--json'], { cwd: dir })).json()).toMatchObject({
      added: ['tool:shout', 'capability:shout'],
    })
    expect(await call('shout', 'text=hey')).toBe('HEY')
    expect((await quartermaster(['call', 'shout'], { cwd: dir })).stderr).toContain('text')
  })

  it('keeps the last good version of a file that broke', async () => {
    const dir = await projectWithClock(unwatched)
    await startUp(dir)
    await writeFiles(dir, { 'capabilities/clock.ts': 'export default {{' })
    const report = await quartermaster(['reload', '--json'], { cwd: dir })
    expect(report.json()).toMatchObject({ rejected: [{ where: expect.stringContaining('capabilities/clock.ts') }] })
    expect((await quartermaster(['call', 'now'], { cwd: dir })).stdout).toContain('tick')
  })

  it('answers health while it builds', async () => {
    const dir = await projectWithClock(unwatched)
    const up = await startUp(dir)
    const before = (await quartermaster(['status', '--json'], { cwd: dir })).json<{ generation: number }>()
    await writeFiles(dir, { 'capabilities/clock.ts': clock('tock') })
    const reload = quartermaster(['reload', '--json'], { cwd: dir })
    const asked = Array.from({ length: 20 }, async () => (await fetch(`${up.url}/health`)).status)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
    expect((await reload).json()).toMatchObject({ generation: before.generation + 1 })
  })
})

describe('watching', () => {
  it('picks up edited, added and deleted files automatically', async () => {
    const dir = await projectWithClock()
    await startUp(dir)
    const names = async () => {
      const tools = (await quartermaster(['tools', '--section', 'clock', '--json'], { cwd: dir })).json<
        { name: string; short: string }[]
      >()
      return tools.map(tool => `${tool.name}: ${tool.short}`)
    }
    expect(await names()).toEqual(['now: Tells the time.'])
    await writeFiles(dir, { 'capabilities/clock.ts': clock().replace('Tells the time.', 'Says when.') })
    await expect.poll(names).toEqual(['now: Says when.'])
    await rm(join(dir, 'capabilities', 'clock.ts'))
    await expect.poll(names).toEqual([])
    await writeFiles(dir, { 'capabilities/again.ts': clock() })
    await expect.poll(names).toEqual(['now: Tells the time.'])
  })
})
