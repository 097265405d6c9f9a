// @ts-check
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The kernel counts processor time in hundredths of a second, whatever its own clock is. */
const TICK_US = 10_000

/**
 * What another process has used so far, all its threads together.
 * @param {number} pid
 * @returns {{ cpuUs: number, residentMb: number }}
 */
export function usageOf(pid) {
  return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
}

/** @param {number} pid */
function fromProc(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The program's name stands in brackets and may hold anything, so fields are counted after it: proc(5), 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuUs: (Number(fields[11]) + Number(fields[12])) * TICK_US, residentMb: Number(kilobytes) / 1024 }
}

/** @param {number} pid */
function fromPs(pid) {
  const text = execFileSync('ps', ['-o', 'time=', '-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
  const [time = '', kilobytes] = text.trim().split(/\s+/)
  const seconds = time.split(/[-:]/).reduce((sum, part) => sum * 60 + Number(part), 0)
  return { cpuUs: seconds * 1e6, residentMb: Number(kilobytes) / 1024 }
}
