import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  APART,
  allGone,
  eventually,
  ILL_SERVER,
  isAlive,
  pidsIn,
  tempFolder,
} from '../mcp-upstream/testing/child-fixture.ts'
import { newRun } from './marked-processes.ts'
import { REAPER_SCRIPT } from './reaper.ts'

const onLinux = process.platform === 'linux'

describe.skipIf(!onLinux)('the reaper', () => {
  let folder = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-'))
    await build({
      entryPoints: [fileURLToPath(new URL('../mcp-upstream/testing/gateway-process.ts', import.meta.url))],
      outfile: join(folder, 'gateway.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    })
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** A process with children, as a gateway is one. */
  async function startGateway(...servers: string[][]) {
    return startGatewayWith({}, servers)
  }

  interface GatewayOptions {
    readonly runner?: readonly string[]
    /** Whether it has looked at what its children have started. */
    readonly looks?: boolean
  }

  async function describeGateway({ runner = [], looks = false }: GatewayOptions, servers: readonly string[][]) {
    const dataDir = await tempFolder()
    const pidFile = join(dataDir, 'pids')
    const options = JSON.stringify({
      dataDir,
      looks,
      servers: servers.map(flags => [...runner, process.execPath, ILL_SERVER, `--pids=${pidFile}`, ...flags]),
    })
    return { options, pidFile }
  }

  async function startGatewayWith(about: GatewayOptions, servers: readonly string[][]) {
    const { options, pidFile } = await describeGateway(about, servers)
    const child = spawn(process.execPath, [join(folder, 'gateway.mjs'), options], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // Its own group, as a shell gives one to what runs in a terminal.
      detached: true,
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const exited = new Promise(resolve => child.once('exit', resolve))
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const first = await lines.next()
    const reaper = reaperIn(String(first.value))
    const pids = await pidsIn(pidFile)
    endAfterwards(pids)
    return { child, pid: child.pid ?? 0, reaper, pids, exited, lines }
  }

  /** The number in what a gateway says when it is ready. */
  const reaperIn = (line: string) => Number(/^ready (\d+)$/m.exec(line)?.[1])

  function endAfterwards(pids: readonly number[]): void {
    onTestFinished(() => {
      for (const pid of pids) {
        try {
          process.kill(pid, 'SIGKILL')
        } catch {
          // As it should be.
        }
      }
    })
  }

  it('ends children and grandchildren when the gateway is killed, and then itself', async () => {
    const { child, pids, reaper } = await startGateway(
      ['--fork'],
      ['--fork-detached', '--fork-bare', '--stubborn'],
      ['--stubborn'],
    )
    expect(pids).toHaveLength(6)
    expect(await Promise.all([...pids, reaper].map(isAlive))).toEqual([...pids, reaper].map(() => true))
    child.kill('SIGKILL')
    expect(await allGone([...pids, reaper])).toBe(true)
  })

  it('ends by their group those that have lost the mark', async () => {
    const { child, pids, reaper } = await startGatewayWith({ runner: ['env', '-i'] }, [['--fork', '--stubborn']])
    expect(await readFile(`/proc/${pids[0]}/environ`, 'utf8')).toBe('')
    child.kill('SIGKILL')
    expect(await allGone([...pids, reaper])).toBe(true)
  })

  it('ends also those that have lost everything, their parent too, if the gateway has seen them before', async () => {
    const { child, pids, reaper } = await startGatewayWith({ looks: true }, [['--fork-bare']])
    const [server = 0, bare = 0] = pids
    expect(await readFile(`/proc/${bare}/environ`, 'utf8')).toBe('')
    child.kill('SIGSTOP')
    process.kill(server, 'SIGKILL')
    // It descends from nobody now, and the gateway has not noticed.
    await eventually(async () => !(await readFile(`/proc/${bare}/stat`, 'utf8')).includes(`) S ${server} `))
    expect(await isAlive(bare)).toBe(true)
    child.kill('SIGKILL')
    expect(await allGone([bare, reaper])).toBe(true)
  })

  it('takes nobody for one of those who only has its number', async () => {
    const [ours, other] = [spawn('sleep', ['1000']), spawn('sleep', ['1000'])]
    onTestFinished(() => [ours, other].forEach(process => void process.kill('SIGKILL')))
    const startOf = async (pid = 0) => Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ')[21])
    const known = [`${ours.pid}:${await startOf(ours.pid)}`, `${other.pid}:${(await startOf(other.pid)) - 1}`]
    const reaper = spawn('sh', ['-c', REAPER_SCRIPT, 'reaper', 'NO_SUCH_MARK', newRun()], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = new Promise(resolve => reaper.once('exit', resolve))
    reaper.stdin.end(`know ${known.join(' ')}\n`)
    expect(await ended).toBe(0)
    expect(await Promise.all([ours, other].map(({ pid = 0 }) => isAlive(pid)))).toEqual([false, true])
  })

  it('leaves alone what says that it goes on without the gateway, and what that has started', async () => {
    const parent = spawn('sh', ['-c', `env -i sleep 1000 & echo $!; ${APART} & wait`], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]()
    const pids: number[] = [parent.pid ?? 0]
    while (pids.length < 4) pids.push(Number((await lines.next()).value))
    onTestFinished(() => pids.slice(2).forEach(pid => void process.kill(pid, 'SIGKILL')))
    const [, start] = /^(?:\S+ ){21}(\d+)/.exec(await readFile(`/proc/${parent.pid}/stat`, 'utf8')) ?? []
    const reaper = spawn('sh', ['-c', REAPER_SCRIPT, 'reaper', 'QUARTERMASTER_UPSTREAM', `${newRun()}.${newRun()}`], {
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = new Promise(resolve => reaper.once('exit', resolve))
    reaper.stdin.end(`know ${parent.pid}:${start}\n`)
    expect(await ended).toBe(0)
    expect(await Promise.all(pids.map(isAlive))).toEqual([false, false, true, true])
  })

  it('does all this too when the gateway ends by itself without a word', async () => {
    const { child, pids, reaper } = await startGateway(['--fork-detached', '--stubborn'])
    child.kill('SIGTERM')
    expect(await allGone([...pids, reaper])).toBe(true)
  })

  it('is not ended by Ctrl-C, which the whole terminal gets', async () => {
    const { pid, pids, reaper, exited } = await startGateway(['--fork-detached', '--stubborn'])
    process.kill(-pid, 'SIGINT')
    process.kill(reaper, 'SIGTERM')
    await exited
    expect(await allGone([...pids, reaper])).toBe(true)
  })

  it('leaves other gateways and their children alone', async () => {
    const one = await startGateway(['--fork-detached'])
    const other = await startGateway(['--fork-detached'])
    one.child.kill('SIGKILL')
    expect(await allGone([...one.pids, one.reaper])).toBe(true)
    expect(await Promise.all([...other.pids, other.reaper].map(isAlive))).toEqual([true, true, true])
  })

  it('ends a gateway that a child has started, and lets the reaper of that one do the same', async () => {
    const { options, pidFile } = await describeGateway({}, [['--fork-detached', '--stubborn']])
    const output = `${pidFile}.ready`
    const started = `"$0" '${join(folder, 'gateway.mjs')}' '${options}' >'${output}' & echo $! >>'${pidFile}'`
    const outer = await startGatewayWith({ runner: ['sh', '-c', `${started}; exec "$0" "$@"`] }, [['--fork']])
    const said = () => readFile(output, 'utf8').catch(() => '')
    await eventually(async () => reaperIn(await said()) > 0)
    const inner = [...(await pidsIn(pidFile)), reaperIn(await said())]
    endAfterwards(inner)
    expect(await Promise.all(inner.map(isAlive))).toEqual([true, true, true, true])
    outer.child.kill('SIGKILL')
    expect(await allGone([...outer.pids, outer.reaper, ...inner])).toBe(true)
  })

  it('goes home when the gateway has seen to everything itself', async () => {
    const { child, pids, reaper, lines } = await startGateway(['--fork-detached'])
    child.stdin.write('close\n')
    expect((await lines.next()).value).toBe('closed')
    expect(await Promise.all([...pids, reaper].map(isAlive))).toEqual([false, false, false])
  })

  it("holds nothing open but its pipe, and is marked as nobody's", async () => {
    const { reaper } = await startGateway([])
    const openIn = async (id: number | 'self') => {
      const files = await readdir(`/proc/${id}/fd`)
      return Promise.all(files.map(fd => readlink(`/proc/${id}/fd/${fd}`).catch(() => 'closed')))
    }
    // What whoever runs this test leaves open to all is not the gateway's.
    const fromOutside = await openIn('self')
    const open = (await openIn(reaper)).filter(target => target !== '/dev/null' && !fromOutside.includes(target))
    expect(open).toEqual([expect.stringMatching(/^(socket|pipe):/)])
    expect(await readlink(`/proc/${reaper}/cwd`)).toBe('/')
    // A gateway around this one leaves it alone, and what it is there for.
    const environ = (await readFile(`/proc/${reaper}/environ`, 'utf8')).split('\0')
    expect(environ.filter(one => one.includes('QUARTERMASTER'))).toEqual(['QUARTERMASTER_UPSTREAM=none'])
  })
})
