// @ts-check
import { ADD } from '../gateway/workloads.mjs'
import { figure } from '../lib/figure.mjs'
import { saysReady } from '../lib/server-process.mjs'
import { median } from '../lib/statistics.mjs'
import { adder, onStage, program } from './stage.mjs'

/** @typedef {import('./peers.mjs').Servers} Servers */

/** Whatever may be wrong with a server. @type {readonly ((n: number) => Servers[string])[]} */
const FAULTS = [
  n => ({ command: `no-such-program-${n}`, args: [] }),
  n => program([process.execPath, '-e', `process.exit(${(n % 9) + 1})`]),
  () => program([process.execPath, '-e', 'process.stdin.resume()']),
  n => program([process.execPath, '-e', `setInterval(() => console.log('Usage: ${n}'), 100)`]),
]

/**
 * How long `up` takes until it is ready, and until a server that works has answered, beside many that do not.
 * @param {{ broken: number, repeats: number }} options
 */
export async function run({ broken, repeats }) {
  const good = { adder: program(adder()) }
  const bad = Object.fromEntries(
    Array.from({ length: broken }, (_, n) => [`bad${n}`, FAULTS[n % FAULTS.length]?.(n) ?? program(adder('--exit'))]),
  )
  const rows = []
  for (const [what, isReady] of /** @type {const} */ ([
    ['ready', saysReady],
    ['first answer', undefined],
  ])) {
    /** @type {number[][]} */
    const times = [[], []]
    for (let i = 0; i < repeats; i++)
      for (const [at, servers] of [good, { ...good, ...bad }].entries())
        times[at]?.push(await startOnce(servers, isReady))
    const [alone = 0, beside = 0] = times.map(median)
    rows.push(
      figure(`Quartermaster, ${what}`, alone, 'ms'),
      figure(`Quartermaster, ${what}, beside ${broken} that do not work`, beside, 'ms'),
      figure(`Quartermaster, ${what}, beside ${broken} that do not work against none`, beside / alone, 'times'),
    )
  }
  return rows
}

/**
 * @param {Servers} servers
 * @param {((url: string) => Promise<boolean>) | undefined} isReady
 */
function startOnce(servers, isReady) {
  return onStage(async stage => {
    const { contender } = await stage.product({ servers, tool: ADD, front: 'modern', ...(isReady && { isReady }) })
    return contender.server.started.ms
  })
}
