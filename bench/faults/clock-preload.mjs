// @ts-check
// Loaded into a node before anything of its own: its clock differs from the machine's by what a file says, and follows that file.
import { readFileSync } from 'node:fs'

/** Short beside the moments of a round. */
const LOOK_EVERY_MS = 10
const machine = Date.now
const file = String(process.env.BENCH_CLOCK_FILE)
let ahead = 0

function look() {
  const said = Number(readFileSync(file, 'utf8'))
  if (Number.isFinite(said)) ahead = said
}

look()
Date.now = () => machine() + ahead
// A process that starts on a machine whose clock is wrong counts from there, whatever becomes of that clock.
const origin = performance.timeOrigin + ahead
Object.defineProperty(performance, 'timeOrigin', { get: () => origin })
setInterval(look, LOOK_EVERY_MS).unref()
