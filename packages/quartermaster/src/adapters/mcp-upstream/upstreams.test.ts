import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { memoryStorage } from '../../testing/memory-store.ts'
import type { Upstreams } from './index.ts'
import { tempFolder } from './testing/child-fixture.ts'
import { entry, SIGNAL, stage } from './testing/upstreams-fixture.ts'

describe('the story of one that cannot start', () => {
  const told = (upstreams: Upstreams) =>
    upstreams.logs('ill', { limit: 100 }).map(({ from, text }) => `${from}: ${text}`)

  it('is told once where there is no program, however often it is tried', async () => {
    const { upstreams, configure, status } = await stage()
    await configure({ ill: entry({ command: 'no-such-program' }) })
    await expect.poll(() => status()?.restarts).toBeGreaterThan(1)
    expect(told(upstreams)).toEqual([expect.stringMatching(/^gateway: There is no program "no-such-program"/)])
  })

  it('is told with what its program says, once for each start, and the starts are counted', async () => {
    const { upstreams, configure, status } = await stage()
    await configure({ ill: entry({}, '--exit=7', '--stderr=the disk is missing') })
    await expect.poll(() => status()?.restarts).toBeGreaterThan(1)
    const start = [
      expect.stringMatching(/^gateway: It was started, as process \d+\.$/),
      'stderr: the disk is missing',
      'gateway: It ended with exit code 7: the disk is missing',
    ]
    expect(told(upstreams).slice(0, 6)).toEqual([...start, ...start])
    expect(status()?.lastError?.message).toBe('It ended with exit code 7: the disk is missing')
  })
})

describe('what upstreams bring', () => {
  it('is there before they are, where they were seen before', async () => {
    const first = await stage()
    await first.configure({ ill: entry({ start: 'lazy' }) })
    await first.isUp()
    const names = await first.toolNames()
    const [seen] = await first.units()
    await first.upstreams.stop()
    const { configure, status, toolNames, units } = await stage({ storage: first.storage })
    await configure({ ill: entry({ start: 'lazy' }) })
    expect(await toolNames()).toEqual(names)
    expect((await units())[0]?.hash).toBe(seen?.hash)
    expect(status()).toMatchObject({ state: 'idle', pids: [] })
  })

  it('has the same hash while nothing changes, whatever restarts', async () => {
    const { upstreams, configure, isUp, units } = await stage()
    await configure({ ill: entry() })
    await isUp()
    const [before] = await units()
    await upstreams.restart('ill')
    await isUp()
    expect((await units())[0]?.hash).toBe(before?.hash)
  })

  it('says so while nobody has seen a server yet', async () => {
    const { configure, units } = await stage()
    await configure({ ill: entry({}, '--exit') })
    const [unit] = await units()
    const [capability] = unit?.definitions.capabilities ?? []
    expect(capability).toMatchObject({ key: 'ill', tools: [], unseen: expect.stringContaining('not been reached') })
  })
})

describe('a store that cannot be read', () => {
  it('starts no server that only a command would use, and is no fault of any', async () => {
    const memory = memoryStorage()
    let isLocked = true
    const open = async () => {
      if (isLocked) throw new AppError('STORE_LOCKED', 'The data folder belongs to another.')
      return memory.open()
    }
    const storage = { ...memory, open }
    const { upstreams, configure, status } = await stage({ storage, which: 'unseen' })
    await configure({ ill: entry() })
    await upstreams.met(1_000)
    expect(status()).toMatchObject({ state: 'idle', pids: [] })
    expect(status()?.lastError).toBeUndefined()
    await expect(upstreams.readAgain()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    isLocked = false
    expect(await upstreams.readAgain()).toBe(true)
    await expect.poll(() => status()?.state).toBe('up')
    expect(await upstreams.readAgain()).toBe(false)
  })
})

describe('servers that capabilities name', () => {
  const guest = { name: 'printing-1', key: 'printing', agent: 'ada', config: entry() }

  it('are mounted beside those that are configured, and stay when those change', async () => {
    const { upstreams, configure, isUp, status, toolNames } = await stage()
    expect(upstreams.mount(guest)).toBe(true)
    await isUp('printing-1')
    const before = status('printing-1')?.pids
    await configure({ ill: entry() })
    await isUp()
    await configure({})
    expect(status('printing-1')?.pids).toEqual(before)
    expect(await toolNames()).toContain('printing_echo')
  })

  it('tell that there is something new', async () => {
    const { upstreams, isUp } = await stage()
    let changes = 0
    upstreams.source.onChange?.(() => void changes++)
    upstreams.mount(guest)
    await isUp('printing-1')
    expect(changes).toBeGreaterThan(0)
  })

  it('are called as before after a restart, whichever of them is asked for first', async () => {
    const other = { ...guest, name: 'printing-2', agent: 'bob' }
    const callEach = async (desk: Awaited<ReturnType<typeof stage>>, asked: (typeof guest)[]) => {
      for (const one of asked) desk.upstreams.mount(one)
      await Promise.all([desk.isUp('printing-1'), desk.isUp('printing-2')])
      const units = (await desk.units()).flatMap(({ definitions }) => definitions.capabilities ?? [])
      return Object.fromEntries(
        units.map(({ key, tools }) => [key, tools.find(tool => tool.name.endsWith('_echo'))?.name]),
      )
    }
    const before = await stage()
    const names = await callEach(before, [guest, other])
    expect(names).toEqual({ 'printing-1': 'printing_echo', 'printing-2': 'printing-2_echo' })
    await expect.poll(() => before.pins.namesOf('printing-2')).toContain('printing-2_echo')
    await before.upstreams.stop()
    expect(await callEach(await stage({ storage: before.storage }), [other, guest])).toEqual(names)
  })

  it('are not started any more once everything is stopped', async () => {
    const { upstreams } = await stage()
    await upstreams.stop()
    upstreams.mount(guest)
    await upstreams.met(1_000)
    expect(upstreams.statuses()).toEqual([])
  })
})

/** Programs that do not answer before what they run is there, one of them by the name of a package runner. */
async function latePrograms() {
  const folder = await tempFolder()
  const script = `#!/bin/sh\nwhile [ ! -e "${folder}/fetched" ]; do sleep 0.05; done\nexec "${process.execPath}" "$@"\n`
  for (const name of ['npx', 'plain']) await writeFile(join(folder, name), script, { mode: 0o755 })
  const late = (name: string) => ({ ...entry({ startSeconds: 0.2 }), command: join(folder, name) })
  return { late, folder }
}

/** What health finds out about a server. */
async function looked({ definitions }: Extract<SourceUnit, { hash: string }>) {
  const probe = definitions.capabilities?.[0]?.dependencies?.[0]?.probe
  return probe && 'run' in probe ? await probe.run({ signal: SIGNAL, hasSecret: () => false }) : undefined
}

it('starts what may have to be downloaded only for a command that names it, and says so until then', async () => {
  const { upstreams, configure, status, units } = await stage({ which: 'none' })
  const { late } = await latePrograms()
  await configure({ npx: late('npx'), off: { ...late('npx'), enabled: false } })
  expect(await upstreams.connectAll(60_000)).toBe(false)
  expect(status('npx')).toMatchObject({
    state: 'idle',
    isFetching: true,
    pids: [],
    reason: 'It does not run. What it runs may have to be downloaded first.',
    unseen: 'Have it started: quartermaster upstreams restart npx, or: quartermaster up',
  })
  const found = await Promise.all((await units()).map(looked))
  // Nothing is known yet of a server that was never started, so it is not said to be up.
  expect(found[0]).toMatchObject({ up: false, pending: true, reason: status('npx')?.reason })
  expect(found[1]).toMatchObject({ up: false, pending: true, reason: 'It is being switched on.' })
  expect(status('off')).not.toHaveProperty('isFetching')
  expect(status('off')).not.toHaveProperty('unseen')
  upstreams.meet('npx', { isChanged: false })
  const reason = 'It was started and has not answered yet. It may be downloading what it runs.'
  expect(status('npx')).toMatchObject({ state: 'starting', isFetching: true, reason })
})

it('starts every server for a single command that looks at all of them, and each once', async () => {
  const file = join(await tempFolder(), 'definitions.json')
  const list = (...names: string[]) =>
    writeFile(file, JSON.stringify(names.map(name => ({ name, inputSchema: { type: 'object' } }))))
  await list('two')
  const first = await stage()
  await first.configure({ ill: entry({}, `--definitions=${file}`) })
  await first.isUp()
  await expect(first.upstreams.connectAll(60_000)).resolves.toBe(false)
  await first.upstreams.stop()
  await list('one', 'two')
  const { upstreams, configure, toolNames, status } = await stage({ storage: first.storage, which: 'none' })
  await configure({ ill: entry({}, `--definitions=${file}`), new: entry({}), off: entry({ enabled: false }) })
  expect(await toolNames()).toEqual(['ill_two'])
  expect(await upstreams.connectAll(60_000)).toBe(true)
  expect([status('ill')?.state, status('new')?.state, status('off')?.state]).toEqual(['up', 'up', 'off'])
  expect(await toolNames()).toEqual(expect.arrayContaining(['ill_two', 'new_echo']))
  expect(await upstreams.connectAll(60_000)).toBe(false)
})

it('gives a package runner time for its first download, and no other program', async () => {
  const { configure, status, isUp } = await stage()
  const { late, folder } = await latePrograms()
  await configure({ npx: late('npx'), plain: late('plain') })
  await expect.poll(() => status('plain')?.lastError?.message).toBe('It was not ready within 0.2 s.')
  expect(status('npx')).toMatchObject({ state: 'starting', isFetching: true, restarts: 0 })
  await writeFile(join(folder, 'fetched'), '')
  await isUp('npx')
  expect(status('npx')).not.toHaveProperty('isFetching')
})

it('names the closest upstream to whoever asks for one that is not there', async () => {
  const { upstreams, configure } = await stage()
  await configure({ ill: entry({ enabled: false }) })
  expect(() => upstreams.logs('il', { limit: 1 })).toThrow(
    expect.objectContaining({ code: 'NAME_UNKNOWN', message: expect.stringContaining('"ill"') }),
  )
})
