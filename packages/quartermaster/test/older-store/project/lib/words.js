import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const path = name => join(import.meta.dirname, '..', name)

/** Notes in `ran` that a tool did its work. */
export const note = line => appendFileSync(path('ran'), `${line}\n`)

/** Notes in `begun` that a tool runs; does not return the first time, and is cut off by the end of its process. */
export async function hangOnce(line) {
  const before = existsSync(path('begun')) ? readFileSync(path('begun'), 'utf8') : ''
  appendFileSync(path('begun'), `${line}\n`)
  while (!before.includes(line)) await pause(1_000)
}

export const isOpen = () => existsSync(path('open'))
