// @ts-check

import { contest } from '../gateway/contest.mjs'
import { ADD } from '../gateway/workloads.mjs'
import { profileOf } from '../lib/stage.mjs'
import { adder, onStage, program } from './stage.mjs'

/** What we may take against the least that can stand in between. */
const BRIDGE_TIMES = 1.2

/**
 * A program behind, clients of 2026-07-28 in front.
 * @param {import('../gateway/contest.mjs').Contest & { profileDir?: string }} options
 */
export function run({ profileDir, ...load }) {
  return onStage(async stage => {
    const setting = { servers: { adder: program(adder()) }, tool: ADD }
    const product = await stage.product({ ...setting, front: 'modern', profile: profileOf(profileDir, 'stdio') })
    const bridge = await stage.bridge(adder(), ADD)
    const sdkBridge = await stage.sdkBridge(adder(), ADD)
    const direct = await stage.directStdio(adder(), { tool: ADD, isModern: true })
    const { entrants, gaps } = await stage.peers(
      [
        { name: 'mcp-proxy', front: 'modern' },
        { name: 'supergateway', front: 'modern' },
        { name: 'mcp-hub', front: 'events' },
      ],
      setting,
    )
    const allowed = { times: BRIDGE_TIMES }
    const runners = [product, { ...bridge, allowed }, { ...sdkBridge, allowed }, direct, ...entrants]
    return [...(await contest(runners, load)), ...gaps]
  })
}
