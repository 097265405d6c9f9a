// @ts-check
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { figure } from '../lib/figure.mjs'
import { residentMb } from '../lib/memory.mjs'
import { median } from '../lib/statistics.mjs'

/**
 * Opening a store in a fresh folder and again, and what it takes of the memory.
 * @param {object} options
 * @param {number} options.repeats
 */
export async function run({ repeats }) {
  const before = residentMb()
  const { inFolder, open } = await import('./stage.mjs')
  return inFolder(async dir => {
    const after = await residentOpen(open, dir)
    const first = []
    const again = []
    for (let i = 0; i < repeats; i++) {
      for (const end of ['', '-wal', '-shm']) await rm(join(dir, `store.db${end}`), { force: true })
      first.push(await timedOpen(open, dir))
      again.push(await timedOpen(open, dir))
    }
    return [
      figure('in a fresh folder, p50', median(first), 'ms'),
      figure('again, p50', median(again), 'ms'),
      figure('resident memory of an open store, with SQL writer, driver and two threads', after - before, 'MB'),
    ]
  })
}

/** @typedef {typeof import('./stage.mjs').open} Open */

/**
 * @param {Open} open
 * @param {string} dir
 */
async function residentOpen(open, dir) {
  const store = await open(dir)
  await store.count('audit')
  const resident = residentMb()
  await store.close()
  return resident
}

/**
 * @param {Open} open
 * @param {string} dir
 */
async function timedOpen(open, dir) {
  const startedAt = performance.now()
  const store = await open(dir)
  const ms = performance.now() - startedAt
  await store.count('audit')
  await store.close()
  return ms
}
