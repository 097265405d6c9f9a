import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Shape, StoreSubject } from './stage.ts'

const ROOT = new URL('../../../../../', import.meta.url)
const DIST = new URL('packages/quartermaster/dist/modules/', ROOT)

/** What the process does, in plain JavaScript over the built product. */
const SCRIPT = `
import { writeSync } from 'node:fs'
const [options] = process.argv.slice(1)
const { task, dist, built, dir, prefix, migrations, more } = JSON.parse(options)
const { [built.name]: open } = await import(new URL(built.module, dist))
const { insert } = await import(new URL('core/store/index.js', dist))
const say = line => writeSync(1, line + '\\n')
const log = { debug() {}, info: (message, { version }) => say('shape ' + version), warn() {}, error() {} }
const store = await open({ dir, log, ...more, ...(migrations ? { migrations } : {}) })
const line = id => ({
  id, workspace: 'w', organisation: 'default', callerKind: 'agent', callerName: 'w', at: 1, operationId: 'o', tool: 't', digest: '0'.repeat(64),
  decision: 'allowed', outcome: 'succeeded', mutates: true, durationMs: 1,
})
const commit = id => store.commit([insert('audit', line(id + '/1')), insert('audit', line(id + '/2'))])
const tasks = {
  async writeForever() {
    let next = 0
    const caller = async () => {
      for (;;) {
        const id = prefix + next++
        await commit(id)
        say('answered ' + id)
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
  },
  async writeSome() {
    for (let i = 0; i < 5; i++) {
      say('asks ' + i)
      await commit(prefix + i)
      say('answered ' + i)
    }
  },
  async overfill() {
    await commit('before')
    // The first does not fit into memory and fails while it is written, the second when it is committed.
    for (const size of [4_000_000, 1_500_000]) {
      const large = { ...line('large'), tool: 'x'.repeat(size) }
      await store.commit([insert('audit', large)]).catch(error => say('failed ' + error.code))
    }
    await commit('after')
    say('rows ' + (await store.count('audit')))
  },
  async open() {},
}
await tasks[task]?.()
if (task !== 'leaveOpen') await store.close()
`

export interface ProcessOptions {
  readonly task: 'writeForever' | 'writeSome' | 'overfill' | 'open' | 'leaveOpen'
  readonly dir: string
  readonly prefix?: string
  readonly migrations?: readonly Shape[]
  /** What its store has to be told beside the folder. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** A real process with a store of its own. */
export interface StoreProcess {
  readonly child: ChildProcess
  /** What it has said so far. */
  readonly lines: readonly string[]
  /** Resolves when it has said this many lines that begin like this; fails when it ends before. */
  until(start: string, count?: number): Promise<void>
  /** `kill -9`, and everything that it said until then is in `lines`. */
  kill(): Promise<void>
  /** Resolves with its exit code when it has ended by itself. */
  ended(): Promise<number | null>
}

/** Makes sure that what is built is what stands in the sources. */
export function ensureBuilt(): void {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/ensure.mjs'], { cwd: ROOT, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The product could not be built.\n${stderr}`)
}

/** Starts one, by way of another program if need be. */
export function startStoreProcess(
  { built }: StoreSubject,
  options: ProcessOptions,
  by: readonly string[] = [],
): StoreProcess {
  const told = JSON.stringify({ prefix: '', ...options, built, dist: DIST.href })
  const [program = '', ...args] = [...by, process.execPath, '--input-type=module', '-e', SCRIPT, told]
  const child = spawn(program, args, { cwd: fileURLToPath(ROOT), stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  let errors = ''
  child.stderr.on('data', data => (errors += String(data)))
  const reader = createInterface({ input: child.stdout }).on('line', line => lines.push(line))
  const ended = new Promise<number | null>(resolve => child.once('close', resolve))
  const until = (start: string, count: number) =>
    new Promise<void>(resolve => {
      const look = () => lines.filter(line => line.startsWith(start)).length >= count && resolve()
      reader.on('line', look)
      look()
    })
  return {
    child,
    lines,
    until(start, count = 1) {
      const failed = ended.then(code => Promise.reject(new Error(`It ended with ${code}: ${errors}`)))
      return Promise.race([until(start, count), failed])
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    ended: () => ended,
  }
}
