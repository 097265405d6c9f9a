import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { allGone, isAlive, pidsIn } from '../src/adapters/mcp-upstream/testing/child-fixture.ts'
import type { UpstreamLogLine } from '../src/contracts/index.ts'
import { deferred } from '../src/testing/deferred.ts'
import { sharedFixture } from '../src/testing/shared-fixture.ts'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { definition, listing } from './support/listing-fixture.ts'
import { childrenOf } from './support/process-footprint.ts'
import {
  ILL_SERVER,
  onFixture,
  openFixture,
  openProcessFixture,
  program,
  SDK_SERVER,
  startHttpServer,
  textOf,
} from './support/upstream-fixture.ts'

const linesOf = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)

describe('upstreams that are broken from the start', () => {
  it('hold up no other server, and say what is wrong with them', async () => {
    const broken = {
      missing: { command: 'no-such-program' },
      exits: program(ILL_SERVER, '--exit=7', '--stderr=the disk is missing'),
      deaf: program(ILL_SERVER, '--deaf'),
      hangs: program(ILL_SERVER, '--hang'),
      babbles: program(ILL_SERVER, '--garbage'),
      far: { url: 'http://127.0.0.1:9/mcp' },
    }
    const fixture = await openFixture({ mcpServers: { ...broken, desk: program(SDK_SERVER) } })
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'desk_echo', { text: 'hi' })).toBe('hi')
    const reasonOf = async (name: string) => (await fixture.status(name))?.lastError?.message
    await expect.poll(() => reasonOf('missing')).toContain('no-such-program')
    await expect.poll(() => reasonOf('exits')).toContain('the disk is missing')
    await expect.poll(() => reasonOf('babbles')).toContain('It writes lines that are no messages: garbage')
    await expect.poll(() => reasonOf('far')).toBe('127.0.0.1:9 cannot be reached: nothing listens there.')
    expect((await fixture.status('hangs'))?.state).toBe('starting')
    expect((await fetch(`${fixture.up.url}/ready`)).status).toBe(200)
  })

  it('appear in live sessions by themselves when they are repaired', async () => {
    const file = join(await freshFolder(), 'repaired')
    const fixture = await openFixture({ mcpServers: { late: program(ILL_SERVER, `--needs=${file}`) } })
    let changes = 0
    const client = await fixture.connect('auto', { listChanged: { tools: { onChanged: () => void changes++ } } })
    const reason = async () => (await fixture.status('late'))?.lastError?.message
    await expect.poll(reason).toBe(`It ended with exit code 1: Error: ${file} is missing`)
    expect((await client.listTools()).tools).toEqual([])
    await writeFile(file, '')
    await expect.poll(() => changes).toBeGreaterThan(0)
    expect(await textOf(client, 'late_echo', { text: 'hi' })).toBe('hi')
  })
})

/** Servers that die in several ways, behind one `up`. */
async function openDying() {
  const folder = await freshFolder()
  const logs = { reads: join(folder, 'reads'), changes: join(folder, 'changes'), twice: join(folder, 'twice') }
  const set = definition('set', { annotations: { idempotentHint: true } })
  const twice = await listing([set, definition('post', { annotations: {} })], `--falls-once=${logs.twice}`)
  const trap = await listing([definition('read'), definition('trap')], '--falls-at=trap', '--late=100')
  const fixture = await openFixture({
    mcpServers: {
      reads: program(SDK_SERVER, `--log=${logs.reads}`),
      changes: program(SDK_SERVER, `--log=${logs.changes}`),
      twice: twice.entry,
      trapped: { ...trap.entry, era: 'legacy' },
    },
  })
  await fixture.untilUp('reads', 'changes', 'twice', 'trapped')
  return { ...fixture, logs }
}

describe('a call at work when its upstream dies', () => {
  const fixture = sharedFixture(openDying)

  it('is sent again when it only reads, before anything is missed', async () => {
    const { logs, status, connect } = fixture()
    const client = await connect()
    const { pid } = JSON.parse(await textOf(client, 'reads_environment'))
    const controller = new AbortController()
    const waiting = client
      .callTool({ name: 'reads_wait', arguments: {} }, { signal: controller.signal })
      .catch(() => {})
    await expect.poll(() => linesOf(logs.reads)).toContain('wait')
    process.kill(pid, 'SIGKILL')
    await expect.poll(async () => (await linesOf(logs.reads)).filter(line => line === 'wait').length).toBe(2)
    controller.abort()
    await waiting
    expect(await textOf(client, 'reads_echo', { text: 'back' })).toBe('back')
    await expect.poll(() => status('reads')).toMatchObject({ state: 'up', restarts: 1 })
  })

  it('is not sent again when it may change something: its outcome is unknown', async () => {
    const { logs, connect } = fixture()
    const client = await connect()
    expect(await textOf(client, 'changes_exit')).toContain('OUTCOME_UNKNOWN')
    expect(await textOf(client, 'changes_count')).toBe('1')
    expect((await linesOf(logs.changes)).filter(line => line === 'exit')).toHaveLength(1)
  })

  it('is sent again when its tool is declared idempotent', async () => {
    const { logs, connect } = fixture()
    const client = await connect()
    expect(await textOf(client, 'twice_set', { path: 'a' })).toBe('{"path":"a"}')
    expect(await linesOf(logs.twice)).toEqual(['set', 'set'])
    expect(await textOf(client, 'twice_post', { path: 'b' })).toContain('OUTCOME_UNKNOWN')
    expect(await textOf(client, 'twice_set', { path: 'c' })).toBe('{"path":"c"}')
    expect(await linesOf(logs.twice)).toEqual(['set', 'set', 'post', 'set'])
  })

  it('is sent three times when it is what kills the server, and other reads are answered meanwhile', async () => {
    const { status, connect } = fixture()
    const client = await connect()
    const reads = ['a', 'b', 'c', 'd'].map(path => textOf(client, 'trapped_read', { path }))
    expect(await textOf(client, 'trapped_trap')).toContain(
      'is not sent again, because the connection broke 3 times at work on it: ',
    )
    expect(await Promise.all(reads)).toEqual(['{"path":"a"}', '{"path":"b"}', '{"path":"c"}', '{"path":"d"}'])
    await expect.poll(async () => (await status('trapped'))?.restarts).toBe(3)
  })
})

describe('an upstream that dies', () => {
  it('while a person is asked takes its question along: the call ends without an answer to it', async () => {
    const fixture = await openFixture({ mcpServers: { ill: { ...program(ILL_SERVER), era: 'legacy' } } })
    await expect.poll(async () => (await fixture.status('ill'))?.state).toBe('up')
    const client = await fixture.connect('legacy', { capabilities: { elicitation: { form: {} } } })
    const thinking = deferred<AbortSignal>()
    client.setRequestHandler('elicitation/create', (_request, { mcpReq: { signal } }) => {
      thinking.resolve(signal)
      return new Promise(() => {})
    })
    const call = textOf(client, 'ill_ask', { message: 'Sure?' })
    const signal = await thinking.promise
    const [pid = 0] = (await fixture.status('ill'))?.pids ?? []
    process.kill(pid, 'SIGKILL')
    expect(await call).toContain('OUTCOME_UNKNOWN')
    await expect.poll(() => signal.aborted).toBe(true)
  })

  it('again and again is left alone for ever longer, listed no more, and leaves others in peace', async () => {
    const fixture = await openFixture({
      mcpServers: { loops: { ...program(ILL_SERVER, '--exit-after=3'), era: 'legacy' }, desk: program(SDK_SERVER) },
      settings: { recoveringSeconds: 1 },
    })
    const client = await fixture.connect()
    await expect.poll(async () => (await fixture.status('loops'))?.state).toBe('down')
    // By its log, so that it is the same on a slow machine. A fifth may be taken off by chance, and a little by the clock.
    const areLongEnough = async () => {
      const lines = await fixture.control<UpstreamLogLine[]>('upstreamLogs', { name: 'loops', limit: 100 })
      const timesOf = (what: string) => lines.filter(({ text }) => text.startsWith(what)).map(({ at }) => at)
      const [ends, [, ...starts]] = [timesOf('It ended'), timesOf('It was started')]
      return [0, 100, 500, 1_000].map((ms, index) => Number(starts[index]) - Number(ends[index]) >= 0.75 * ms)
    }
    await expect.poll(areLongEnough).toEqual([true, true, true, true])
    await expect.poll(() => textOf(client, 'desk_echo', { text: 'hi' })).toBe('hi')
  })

  it('and cannot come back keeps its tools listed for a while, then has none, and has them again when it is fixed', async () => {
    const file = join(await freshFolder(), 'licence')
    await writeFile(file, '')
    const server = { ...program(ILL_SERVER, `--needs=${file}`), era: 'legacy' }
    const fixture = await openFixture({ mcpServers: { desk: server }, settings: { recoveringSeconds: 4 } })
    const client = await fixture.connect()
    const isListed = async () =>
      (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.some(tool => tool.name === 'desk_echo')
    const state = async () => (await fixture.status('desk'))?.state
    await expect.poll(isListed).toBe(true)
    await rm(file)
    const [pid = 0] = (await fixture.status('desk'))?.pids ?? []
    process.kill(pid, 'SIGKILL')

    // What was listed while it was recovering before and after that.
    const meanwhile: boolean[] = []
    const look = async () => {
      const [before, listed, after] = [await state(), await isListed(), await state()]
      if (before === 'recovering' && after === 'recovering') meanwhile.push(listed)
      return after
    }
    await expect.poll(look).toBe('down')
    expect([...new Set(meanwhile)]).toEqual([true])
    const reason = `It ended with exit code 1: Error: ${file} is missing`
    expect(await fixture.status('desk')).toMatchObject({ state: 'down', reason, lastError: { message: reason } })
    await expect.poll(isListed).toBe(false)

    await writeFile(file, '')
    await expect.poll(isListed).toBe(true)
    expect(await textOf(client, 'desk_echo', { text: 'back' })).toBe('back')
    expect(await state()).toBe('up')
  })

  it('and stays away is waited for no longer than is configured, by a call under way and by one that comes then', async () => {
    const file = join(await freshFolder(), 'licence')
    await writeFile(file, '')
    const entry = { ...program(ILL_SERVER, `--needs=${file}`, '--exit-on=tools/call'), era: 'legacy' }
    const settings = { restartWaitSeconds: 1, recoveringSeconds: 60 }
    const fixture = await openFixture({ mcpServers: { desk: { ...entry, timeoutMs: 10_000 } }, settings })
    await expect.poll(async () => (await fixture.status('desk'))?.tools.offered).toBe(12)
    await rm(file)
    const client = await fixture.connect()
    const echo = () => textOf(client, 'desk_echo', { text: 'hi' })
    expect(await echo()).toMatch(/^DEPENDENCY_UNAVAILABLE: .* cannot be reached: It ended with exit code 1/)
    expect(await echo()).toMatch(/^TOOL_DISABLED: .* which is recovering/)
  })

  it('over HTTP is reached again when it is back at its address, and when it has forgotten us', async () => {
    const first = await startHttpServer()
    const { port } = new URL(first.url)
    const fixture = await openFixture({ mcpServers: { far: { url: first.url, era: 'legacy' } } })
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
    await fetch(new URL('/forget', first.url))
    expect(await textOf(client, 'far_echo', { text: 'known again' })).toBe('known again')
    first.kill()
    const call = textOf(client, 'far_echo', { text: 'back' })
    await startHttpServer(`--port=${port}`)
    expect(await call).toBe('back')
  })
})

describe('an upstream that hangs', () => {
  it('is started again when a call ran out of its time, long before, or at rest, and not when it is long at work or given time', async () => {
    const fixture = await openFixture({
      mcpServers: {
        hangs: { ...program(ILL_SERVER, '--hang-after=7'), timeoutMs: 1_000 },
        stops: program(ILL_SERVER),
        works: program(ILL_SERVER),
        blocks: { ...program(ILL_SERVER, '--blocks-from=5000'), timeoutMs: 60_000 },
      },
    })
    const client = await fixture.connect()
    const echo = (name: string, text: string) => textOf(client, `${name}_echo`, { text })

    async function isMissedByItsCall(): Promise<void> {
      await expect.poll(() => echo('hangs', 'hi')).toBe('hi')
      await expect.poll(() => echo('hangs', 'hi')).toMatch(/DEADLINE_EXCEEDED|OUTCOME_UNKNOWN/)
      await expect.poll(async () => (await fixture.status('hangs'))?.restarts).toBe(1)
      await expect.poll(() => echo('hangs', 'back')).toBe('back')
    }

    async function isNoticedBefore(): Promise<void> {
      await expect.poll(() => echo('stops', 'hi')).toBe('hi')
      // It is asked meanwhile whether it is there, and from here on known to listen while it works.
      expect(await textOf(client, 'stops_slow', { ms: 5_000 })).toBe('at last')
      const [pid = 0] = (await fixture.status('stops'))?.pids ?? []
      process.kill(pid, 'SIGSTOP')
      // It has 30 s, and the one that hangs would never answer. What only reads is sent again.
      expect(await echo('stops', 'back')).toBe('back')
      const message = expect.stringMatching(
        /^It runs, but did not answer while it was at work\. .* "timeoutMs" in its entry\.$/,
      )
      const noticed = { state: 'up', restarts: 1, lastError: { message } }
      await expect.poll(() => fixture.status('stops')).toMatchObject(noticed)
    }

    async function isNoticedAtRest(): Promise<void> {
      const rests = { ...program(ILL_SERVER), timeoutMs: 3_000 }
      const quiet = await openFixture({ mcpServers: { rests }, settings: { watchIntervalSeconds: 1 } })
      const caller = await quiet.connect()
      // It is asked meanwhile whether it is there, and from here on known to answer that.
      await expect.poll(() => textOf(caller, 'rests_slow', { ms: 1_500 })).toBe('at last')
      const [pid = 0] = (await quiet.status('rests'))?.pids ?? []
      process.kill(pid, 'SIGSTOP')
      const noticed = { state: 'up', restarts: 1, lastError: { message: 'It runs, but does not answer any more.' } }
      await expect.poll(() => quiet.status('rests')).toMatchObject(noticed)
      await allGone([pid])
    }

    async function isLongAtItsWork(): Promise<void> {
      await expect.poll(() => echo('works', 'hi')).toBe('hi')
      expect(await textOf(client, 'works_slow', { ms: 12_000 })).toBe('at last')
      await expect.poll(() => fixture.status('works')).toMatchObject({ state: 'up', restarts: 0 })
    }

    async function isLeftItsTime(): Promise<void> {
      // It is asked meanwhile whether it is there, and from here on known to listen while it works.
      await expect.poll(() => textOf(client, 'blocks_slow', { ms: 1_000 })).toBe('at last')
      expect(await textOf(client, 'blocks_slow', { ms: 9_000 })).toBe('at last')
      await expect.poll(() => fixture.status('blocks')).toMatchObject({ state: 'up', restarts: 0 })
    }

    const noticed = [isMissedByItsCall(), isNoticedBefore(), isNoticedAtRest()]
    await Promise.all([...noticed, isLongAtItsWork(), isLeftItsTime()])
  })

  it('leaves an agent whose calls wait for it room for calls of others', async () => {
    const hangs = program(ILL_SERVER, '--hang-on=tools/call')
    const fixture = await openFixture({ mcpServers: { hangs, desk: program(SDK_SERVER) } })
    const client = await fixture.connect()
    await expect.poll(() => textOf(client, 'desk_echo', { text: 'hi' })).toBe('hi')
    const refusals: string[] = []
    const calls = Array.from({ length: 200 }, () =>
      client.callTool({ name: 'hangs_echo', arguments: { text: 'hi' } }).then(
        result => refusals.push(JSON.stringify(result)),
        error => refusals.push(String(error)),
      ),
    )
    await expect.poll(() => refusals.length).toBe(72)
    expect(refusals.at(-1)).toContain('There are 128 requests to')
    expect(await textOf(client, 'desk_echo', { text: 'there' })).toBe('there')
    await client.close()
    await Promise.all(calls)
  })
})

describe('an upstream that says too much', () => {
  it('that is no message is ended, and its status shows what it wrote', async () => {
    const babbles = { ...program(ILL_SERVER, '--garbage-on=tools/call'), era: 'legacy' }
    const fixture = await openFixture({ mcpServers: { babbles }, settings: { restartWaitSeconds: 1 } })
    await expect.poll(async () => (await fixture.status('babbles'))?.state).toBe('up')
    const [pid = 0] = (await fixture.status('babbles'))?.pids ?? []
    const client = await fixture.connect()
    const read = await textOf(client, 'babbles_append', { file: 'unused' })
    expect(read).toContain('OUTCOME_UNKNOWN')
    expect(read).toContain('It writes lines that are no messages.')
    const message = expect.stringMatching(/^It writes lines that are no messages: garbage \d+ /)
    await expect.poll(() => fixture.status('babbles')).toMatchObject({ restarts: 1, lastError: { message } })
    await allGone([pid])
  })

  it('on standard error is kept for the logs command, the newest of it', async () => {
    const fixture = await openFixture({ mcpServers: { speaks: program(ILL_SERVER, '--stderr=a word of warning') } })
    await expect.poll(async () => (await fixture.run('logs', 'speaks')).stdout).toContain('a word of warning')
    const lines = (await fixture.run('logs', 'speaks', '--json')).json<{ at: number }[]>()
    expect(lines.map(({ at }) => at)).toEqual(lines.map(({ at }) => Math.round(at)))
  })
})

describe('what upstreams have started', () => {
  const flags = (file: string) => ['--fork', '--fork-detached', '--fork-bare', '--stubborn', `--pids=${file}`]

  it.each(['SIGTERM', 'SIGKILL'] as const)('ends with the gateway, however that ends: %s', async signal => {
    const file = join(await freshFolder(), 'pids')
    const fixture = await openProcessFixture({ mcpServers: { stubborn: program(ILL_SERVER, ...flags(file)) } })
    await expect.poll(async () => (await pidsIn(file)).length).toBe(4)
    fixture.up.child.kill(signal)
    await allGone(await pidsIn(file))
  })

  it.each([
    ['the same servers', true],
    ['none any more', false],
  ])('is swept away by the next start with %s, should anything be left', async (_, isKept) => {
    const file = join(await freshFolder(), 'pids')
    const fixture = await openProcessFixture({ mcpServers: { stubborn: program(ILL_SERVER, ...flags(file)) } })
    await expect.poll(async () => (await pidsIn(file)).length).toBe(4)
    const left = await pidsIn(file)
    const up = fixture.up.child.pid ?? 0
    // What would have ended them goes first.
    const reapers = (await childrenOf(up)).map(Number).filter(pid => !left.includes(pid))
    expect(reapers).not.toEqual([])
    for (const pid of [...reapers, up]) process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(up)).toBe(false)
    expect(await Promise.all(left.map(isAlive))).toEqual([true, true, true, true])
    if (!isKept) await writeFile(join(fixture.dir, 'quartermaster.config.json'), '{}')
    await onFixture(fixture.dir)
    await allGone(left)
  })
})
