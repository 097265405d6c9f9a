// @ts-check
import { join } from 'node:path'
import { HELD_MS, watchLoop } from '../lib/event-loop.mjs'
import { figure } from '../lib/figure.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { auditLine, inFolder, insert, open } from './stage.mjs'

/**
 * One caller after the other, then many at once, against the same row written by the bare driver on this thread.
 * @param {object} options
 * @param {number} options.singles
 * @param {number} options.callers
 * @param {number} options.grouped
 */
export function run({ singles, callers, grouped }) {
  return inFolder(async dir => {
    const store = await open(dir)
    let next = 0
    const commit = () => store.commit([insert('audit', auditLine(next++))])
    const bare = await bareDriver(dir)
    // Both warm up, then take turns: the disk of a shared machine is not the same from one second to the next.
    for (let i = 0; i < singles / 10; i++) await commit()
    const times = []
    const bareTimes = []
    for (let i = 0; i < singles; i++) {
      times.push(await timed(commit))
      bareTimes.push(await timed(bare.append))
    }
    bare.close()
    const { perSecond, cpuUs, heldMs } = await crowd(commit, callers, grouped)
    const { commits, groups } = store.statistics()
    const rows = await store.count('audit')
    await store.close()
    if (rows !== next) throw new Error(`${next} commits were answered and ${rows} rows are there.`)
    return [
      figure('bare driver on this thread, synced, p50', median(bareTimes), 'µs'),
      figure('one after the other, p50', median(times), 'µs'),
      figure('one after the other, p99', p99(times), 'µs'),
      figure('one after the other, p50 against the bare driver', median(times) / median(bareTimes), 'times', 3),
      figure('one after the other', 1e6 / mean(times), 'commits/s'),
      figure(`${callers} callers`, perSecond, 'commits/s'),
      figure(`${callers} callers, against one`, perSecond / (1e6 / mean(times)), 'times'),
      figure(`${callers} callers, processor time of each`, cpuUs, 'µs', 100),
      figure(`${callers} callers, that share a sync`, (commits - times.length) / (groups - times.length), 'commits'),
      figure(`${callers} callers, event loop held at most`, heldMs, 'ms', HELD_MS),
    ]
  })
}

/** @param {() => unknown} work */
async function timed(work) {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) * 1_000
}

/**
 * @param {() => Promise<unknown>} commit
 * @param {number} callers
 * @param {number} total
 */
async function crowd(commit, callers, total) {
  const loop = watchLoop()
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  let left = total
  const caller = async () => {
    while (left-- > 0) await commit()
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: total / seconds, cpuUs: (user + system) / total, heldMs: await loop.longestMs() }
}

/** The same row through the driver and nothing else. @param {string} dir */
async function bareDriver(dir) {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const database = new DatabaseSync(join(dir, 'bare.db'))
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE audit (id TEXT PRIMARY KEY, line TEXT)',
  )
  const statement = database.prepare('INSERT INTO audit VALUES (?, ?)')
  let next = 0
  return {
    append() {
      const line = auditLine(next++)
      statement.run(line.id, JSON.stringify(line))
    },
    close: () => database.close(),
  }
}

/** @param {readonly number[]} samples */
const mean = samples => samples.reduce((sum, one) => sum + one, 0) / samples.length
