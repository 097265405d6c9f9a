// @ts-check

import { contest } from '../gateway/contest.mjs'
import { ADD } from '../gateway/workloads.mjs'
import { profileOf } from '../lib/stage.mjs'
import { adder, onStage, program } from './stage.mjs'

/**
 * A program behind, clients from before 2026-07-28 in front.
 * @param {import('../gateway/contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const setting = { servers: { adder: program(adder()) }, tool: ADD }
    const product = await stage.product({ ...setting, front: 'sessions', profile: profileOf(profileDir, 'sessions') })
    const bridge = await stage.bridge(adder(), ADD, 'sessions')
    const direct = await stage.directStdio(adder(), { tool: ADD, isModern: false })
    const { entrants, gaps } = await stage.peers(
      [
        { name: 'mcp-proxy', front: 'sessions' },
        { name: 'supergateway', front: 'sessions' },
        { name: 'mcp-hub', front: 'events' },
      ],
      setting,
    )
    return [...(await contest([product, bridge, direct, ...entrants], load)), ...gaps]
  })
}
