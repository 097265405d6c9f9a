// @ts-check
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'

const BEAT_MS = 1_000
const POLL_MS = 50

/**
 * Does the work while holding a lock file. The holder touches the file every second, and one that was not touched for
 * `staleMs` belongs to a process that was killed. A process id would not tell: containers hand out the same ones again.
 * @template T
 * @param {string} file
 * @param {{ onWait?: () => void, staleMs?: number }} options
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, { onWait = () => {}, staleMs = 15_000 }, work) {
  const token = randomUUID()
  for (let told = false; !take(file, token, staleMs); told = true) {
    if (!told) onWait()
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  const beat = setInterval(() => touch(file), BEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    if (contentOf(file) === token) rmSync(file, { force: true })
  }
}

/**
 * @param {string} file
 * @param {string} token
 * @param {number} staleMs
 */
function take(file, token, staleMs) {
  if (Date.now() - touchedAt(file) > staleMs) rmSync(file, { force: true })
  try {
    writeFileSync(file, token, { flag: 'wx' })
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} file */
function touchedAt(file) {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats ? stats.mtimeMs : Date.now()
}

/** @param {string} file */
function touch(file) {
  try {
    const now = new Date()
    utimesSync(file, now, now)
  } catch {
    // Somebody removed the lock by hand; the work goes on, and there is nothing left to keep fresh.
  }
}

/** @param {string} file */
function contentOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
