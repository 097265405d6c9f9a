import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freshFolder } from '../../src/testing/store-contract/stage.ts'

/** What a process holds. */
export interface Footprint {
  readonly descriptors: number
  readonly threads: number
  readonly children: number
  /** In bytes, after garbage was collected. */
  readonly heap: number
  /** Sockets, pipes, timers and the like that keep it running. */
  readonly handles: number
}

/** Measures one process from outside. Linux only. */
export interface FootprintScale {
  /** For the environment of the process. */
  readonly env: Record<string, string>
  measure(pid: number): Promise<Footprint>
}

const ON_SIGNAL = new URL('heap-on-signal.mjs', import.meta.url).href

export async function createFootprintScale(): Promise<FootprintScale> {
  const file = join(await freshFolder(), 'heap')
  const heaps = async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)

  async function insideOf(pid: number): Promise<Pick<Footprint, 'heap' | 'handles'>> {
    const { length } = await heaps()
    process.kill(pid, 'SIGUSR2')
    await expect.poll(async () => (await heaps()).length).toBe(length + 1)
    const [heap, handles] = (await heaps()).at(-1)?.split(' ').map(Number) ?? []
    return { heap: Number(heap), handles: Number(handles) }
  }

  return {
    env: { NODE_OPTIONS: `--import=${ON_SIGNAL}`, HEAP_FILE: file },
    async measure(pid) {
      const inside = await insideOf(pid)
      const [descriptors, threads, children] = await Promise.all([
        readdir(`/proc/${pid}/fd`),
        readdir(`/proc/${pid}/task`),
        childrenOf(pid),
      ])
      return { descriptors: descriptors.length, threads: threads.length, children: children.length, ...inside }
    },
  }
}

/** The numbers of the processes it has started and that still run. */
export async function childrenOf(pid: number): Promise<string[]> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const lists = await Promise.all(tasks.map(task => readFile(`/proc/${pid}/task/${task}/children`, 'utf8')))
  return lists.flatMap(list => list.split(' ').filter(Boolean))
}
