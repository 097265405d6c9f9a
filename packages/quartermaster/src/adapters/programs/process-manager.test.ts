import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  APART,
  allGone,
  callTool,
  eventually,
  isAlive,
  openChannel,
  processManagerFixture,
  tempFolder,
} from '../mcp-upstream/testing/child-fixture.ts'
import { createLookingClock } from '../mcp-upstream/testing/polling-clock.ts'
import { createSystemClock } from '../system/index.ts'
import { folderMark, newRun } from './marked-processes.ts'
import { createProcessManager } from './process-manager.ts'

const onLinux = process.platform === 'linux'

describe.skipIf(!onLinux)('closing one child', () => {
  it.each([
    ['that ends when its input does', []],
    ['that takes no notice of anything but being killed', ['--stubborn']],
    ['with a child of its own', ['--fork']],
    ['with a child that has left its group and session', ['--fork-detached']],
    ['with a child that has left both and has no environment', ['--fork-bare']],
    ['with all of them, stubborn', ['--fork', '--fork-detached', '--fork-bare', '--stubborn']],
  ])('ends everything of one %s', async (_which, flags) => {
    const server = await openChannel({ flags })
    const pids = JSON.parse(await callTool(server, 'pids')) as number[]
    await server.channel.close()
    // One that was killed may be on its way out for a moment when the machine has much to do.
    expect(await allGone(pids)).toBe(true)
  })

  it('gives it time to end by itself', async () => {
    const server = await openChannel({ flags: ['--linger=300'], stop: { graceMs: 10_000, termMs: 10_000 } })
    await server.ask('ping')
    const [pid = 0] = server.channel.pids()
    await server.channel.close()
    expect(await isAlive(pid)).toBe(false)
  })

  it.each([
    ['by closing its input', 'cat; echo input closed'],
    ['by SIGTERM', 'trap "echo terminated; exit 0" TERM; while :; do sleep 0.01; done'],
  ])('asks it first %s', async (_how, script) => {
    const file = join(await tempFolder(), 'said')
    const { processManager } = await processManagerFixture()
    const program = { command: 'sh', args: ['-c', `echo ready >&2; { ${script}; } >"${file}"`], env: {}, cwd: '/' }
    const child = await processManager.spawn({ ...program, stop: { graceMs: 300, termMs: 10_000 } })
    await new Promise(resolve => child.stderr.once('data', resolve))
    await child.end()
    expect(await readFile(file, 'utf8')).toMatch(/^(input closed|terminated)\n$/)
    expect((await child.exited).signal).toBeNull()
  })

  it('leaves the others alone', async () => {
    const { processManager } = await processManagerFixture()
    const [one, other] = [
      await openChannel({ processManager }),
      await openChannel({ processManager, flags: ['--fork-detached'] }),
    ]
    const pids = JSON.parse(await callTool(other, 'pids')) as number[]
    await one.channel.close()
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true])
    expect(await callTool(other, 'echo', { text: 'still here' })).toBe('still here')
  })

  it('is done by itself when it dies and leaves others behind', async () => {
    const server = await openChannel({ flags: ['--fork', '--fork-detached'] })
    const pids = JSON.parse(await callTool(server, 'pids')) as number[]
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await server.ended
    expect(await allGone(pids)).toBe(true)
  })

  it('is done by itself when it dies and leaves what was seen before, with what that has started since', async () => {
    const clock = createLookingClock()
    const { processManager } = await processManagerFixture({ clock })
    const bare = 'echo $$; read -r line; sleep 1000 & echo $!; exec sleep 1000'
    const child = await processManager.spawn({
      command: 'sh',
      args: ['-c', `exec 3<&0; env -i setsid sh -c '${bare}' <&3 & wait`],
      env: {},
      cwd: '/',
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const first = Number((await lines.next()).value)
    await clock.looked()
    process.kill(child.pid, 'SIGKILL')
    await child.exited
    child.stdin.write('go on\n')
    const pids = [first, Number((await lines.next()).value)]
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true])
    await child.end()
    expect(await allGone(pids)).toBe(true)
  })

  it('ends also what others of its group have started without any mark, when it has died before anybody looked', async () => {
    const { processManager } = await processManagerFixture()
    const inGroup = `sh -c 'echo $$; env -i setsid sleep 1000 & echo $!; wait'`
    const child = await processManager.spawn({ command: 'sh', args: ['-c', `${inGroup} &`], env: {}, cwd: '/' })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const pids = [Number((await lines.next()).value), Number((await lines.next()).value)]
    await child.exited
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true])
    await child.end()
    expect(await allGone(pids)).toBe(true)
  })

  it('leaves alone what says that it goes on without it, as another gateway does, and what that has started', async () => {
    const { processManager } = await processManagerFixture()
    const child = await processManager.spawn({ command: 'sh', args: ['-c', `${APART} & wait`], env: {}, cwd: '/' })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const pids = [Number((await lines.next()).value), Number((await lines.next()).value)]
    onTestFinished(() => pids.forEach(pid => void process.kill(pid, 'SIGKILL')))
    await child.end()
    expect(await isAlive(child.pid)).toBe(false)
    expect(await Promise.all(pids.map(isAlive))).toEqual([true, true])
  })
})

describe.skipIf(!onLinux)('a process manager', () => {
  it('ends all its children, and starts none afterwards', async () => {
    const { processManager } = await processManagerFixture()
    const servers = await Promise.all(
      [[], ['--stubborn'], ['--fork-detached']].map(flags => openChannel({ processManager, flags })),
    )
    const pids = (await Promise.all(servers.map(server => callTool(server, 'pids')))).flatMap(
      text => JSON.parse(text) as number[],
    )
    const reaper = processManager.reaperPid() ?? 0
    await processManager.close()
    expect(await Promise.all([...pids, reaper].map(isAlive))).toEqual([...pids, reaper].map(() => false))
    await expect(openChannel({ processManager })).rejects.toMatchObject({
      message: 'The gateway is stopping; nothing is started any more.',
    })
  })

  it('has one reaper however often children start, and nothing is left of any', async () => {
    const { processManager } = await processManagerFixture()
    const before = (await readdir('/proc/self/fd')).length
    const reapers = new Set<number | undefined>()
    for (let i = 0; i < 100; i += 10) {
      const children = await Promise.all(
        Array.from({ length: 10 }, () => processManager.spawn({ command: 'cat', args: [], env: {}, cwd: '/' })),
      )
      reapers.add(processManager.reaperPid())
      await Promise.all(children.map(child => child.end()))
    }
    expect(reapers.size).toBe(1)
    // One pipe to the reaper.
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before + 3)
  })

  it('has no reaper without children', async () => {
    const { processManager } = await processManagerFixture()
    expect(processManager.reaperPid()).toBeUndefined()
    await processManager.close()
  })

  it('is closed all the same when the reaper was stopped by somebody', async () => {
    const { processManager } = await processManagerFixture()
    await openChannel({ processManager })
    const reaper = processManager.reaperPid() ?? 0
    process.kill(reaper, 'SIGSTOP')
    await processManager.close()
    expect(await allGone([reaper])).toBe(true)
  })

  it('gets a new reaper when somebody kills it', async () => {
    const { processManager } = await processManagerFixture()
    await openChannel({ processManager })
    const first = processManager.reaperPid() ?? 0
    process.kill(first, 'SIGKILL')
    expect(await allGone([first])).toBe(true)
    await eventually(() => processManager.reaperPid() !== first)
    await openChannel({ processManager })
    expect(await isAlive(processManager.reaperPid() ?? 0)).toBe(true)
  })
})

describe.skipIf(!onLinux)('a sweep at the start', () => {
  /** A process that carries this mark, or none. */
  async function stray(mark: string | undefined, name = 'QUARTERMASTER_UPSTREAM'): Promise<number> {
    const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
      env: { PATH: process.env.PATH, ...(mark === undefined ? {} : { [name]: mark }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await new Promise(resolve => child.stdout.once('data', resolve))
    return child.pid ?? 0
  }

  it('kills what earlier runs of this folder have left, and nothing else', async () => {
    const { processManager, dataDir } = await processManagerFixture()
    const folder = folderMark(dataDir)
    const left = [await stray(`${folder}.${newRun()}.1`), await stray(`${folder}.${newRun()}.27`)]
    const others = [
      await stray(undefined),
      await stray(`${folderMark(await tempFolder())}.${newRun()}.1`),
      await stray(`${folder}.${newRun()}.x`),
      await stray(`${folder}.${newRun()}`),
      await stray(`x${folder}.${newRun()}.1`),
      await stray(`${folder}.${newRun()}.1`, 'NOT_QUARTERMASTER_UPSTREAM'),
      await stray(`QUARTERMASTER_UPSTREAM=${folder}.${newRun()}.1`, 'TEXT'),
    ]
    const server = await openChannel({ processManager })
    expect(await processManager.sweep()).toBe(2)
    expect(await Promise.all(left.map(isAlive))).toEqual([false, false])
    expect(await Promise.all(others.map(isAlive))).toEqual(others.map(() => true))
    expect(await server.ask('ping')).toMatchObject({ result: {} })
  })

  /** A process that an earlier run has left, and those it has started, as many as it tells of. */
  async function leftBy(dataDir: string, script: string): Promise<number[]> {
    const child = spawn('sh', ['-c', script], {
      env: { PATH: process.env.PATH, QUARTERMASTER_UPSTREAM: `${folderMark(dataDir)}.${newRun()}.1` },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return [child.pid ?? 0, Number((await lines.next()).value), Number((await lines.next()).value)]
  }

  it('kills what those have started as well, whatever it has lost', async () => {
    const { processManager, dataDir } = await processManagerFixture()
    const bare = `sh -c 'echo $$; exec sleep 1000'`
    const pids = await leftBy(dataDir, `env -i setsid ${bare} & env -i ${bare} & wait`)
    expect(await processManager.sweep()).toBe(3)
    expect(await allGone(pids)).toBe(true)
  })

  it('leaves alone what goes on without those, and what that has started', async () => {
    const { processManager, dataDir } = await processManagerFixture()
    const [left = 0, ...apart] = await leftBy(dataDir, `${APART} & wait`)
    onTestFinished(() => apart.forEach(pid => void process.kill(pid, 'SIGKILL')))
    expect(await processManager.sweep()).toBe(1)
    expect(await Promise.all([left, ...apart].map(isAlive))).toEqual([false, true, true])
  })

  it.skipIf(process.getuid?.() !== 0)(
    'leaves processes of other users alone, also where it could kill them',
    async () => {
      const { processManager, dataDir } = await processManagerFixture()
      const child = spawn('sh', ['-c', 'echo 1; exec sleep 1000'], {
        env: { PATH: process.env.PATH, QUARTERMASTER_UPSTREAM: `${folderMark(dataDir)}.${newRun()}.1` },
        stdio: ['ignore', 'pipe', 'inherit'],
        cwd: '/',
        uid: 65_534,
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      await new Promise(resolve => child.stdout.once('data', resolve))
      expect(await processManager.sweep()).toBe(0)
      expect(await isAlive(child.pid ?? 0)).toBe(true)
    },
  )

  it('finds nothing where all is well', async () => {
    const { processManager } = await processManagerFixture()
    expect(await processManager.sweep()).toBe(0)
  })

  it('knows a folder by what it is, not by how its path is written', async () => {
    const dataDir = await tempFolder()
    const left = await stray(`${folderMark(dataDir)}.${newRun()}.1`)
    const processManager = createProcessManager({
      clock: createSystemClock(),
      dataDir: `${dataDir}/../${dataDir.split('/').at(-1)}/`,
    })
    expect(await processManager.sweep()).toBe(1)
    expect(await isAlive(left)).toBe(false)
  })
})
