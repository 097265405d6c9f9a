import { freemem } from 'node:os'
import { defineDependency } from 'quartermaster'

const MEBIBYTE = 1024 * 1024

export default defineDependency({
  name: 'memory',
  fix: 'Close something, or wait.',
  probe() {
    const free = Math.round(freemem() / MEBIBYTE)
    return free > 64
      ? { up: true, reason: `${free} MiB are free.` }
      : { up: false, reason: `Only ${free} MiB are free.` }
  },
})
