// @ts-check
import { setTimeout as wait } from 'node:timers/promises'
import { runRound } from '../gateway/load.mjs'
import { ADD } from '../gateway/workloads.mjs'
import { figure } from '../lib/figure.mjs'
import { adder, onStage, PEERS, program } from './stage.mjs'

/**
 * From the start of each process until it has answered a call, and its memory when it has worked and rests; the server
 * behind is not counted, and stands beside them by itself.
 * @param {{ calls: number, idleMs: number }} options
 */
export function run({ calls, idleMs }) {
  return onStage(async stage => {
    const setting = { servers: { adder: program(adder()) }, tool: ADD }
    const product = await stage.product({ ...setting, front: 'modern' })
    const bridge = await stage.bridge(adder(), ADD)
    const { entrants, gaps } = await stage.peers(PEERS, setting)
    const direct = await stage.directStdio(adder(), { tool: ADD, isModern: true })
    const all = [product, bridge, direct, ...entrants]
    for (const entrant of all) await runRound(entrant, { calls, inFlight: 16 })
    await wait(idleMs)
    const rows = all.flatMap(({ contender: { name, server } }) => [
      figure(`${name}, first answer`, server.started.ms, 'ms'),
      figure(`${name}, idle after ${calls} calls, resident memory`, server.usage().residentMb, 'MB'),
    ])
    return [...rows, ...gaps]
  })
}
