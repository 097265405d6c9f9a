// @ts-check

import { contest } from '../gateway/contest.mjs'
import { gap } from '../lib/figure.mjs'
import { profileOf } from '../lib/stage.mjs'
import { EVERYTHING, requirePeer } from './peers.mjs'
import { onStage, PEERS, program } from './stage.mjs'

/** @type {import('../gateway/workloads.mjs').CalledTool} */
const ECHO = {
  name: 'echo',
  inputOf: n => ({ message: `n${n}` }),
  isRight: ({ content }, n) => content?.[0]?.text?.endsWith(`n${n}`) === true,
}

/**
 * A real server behind, which takes its own time; in front everyone speaks as they do best.
 * @param {import('../gateway/contest.mjs').Contest & { profileDir?: string }} options
 */
export async function run({ profileDir, ...load }) {
  try {
    requirePeer('@modelcontextprotocol/server-everything')
  } catch (error) {
    return [gap('server-everything', error)]
  }
  return onStage(async stage => {
    const setting = { servers: { everything: program(EVERYTHING) }, tool: ECHO }
    const product = await stage.product({ ...setting, front: 'modern', profile: profileOf(profileDir, 'everything') })
    const bridge = await stage.bridge(EVERYTHING, ECHO, 'sessions')
    const direct = await stage.directStdio(EVERYTHING, { tool: ECHO, isModern: false })
    const { entrants, gaps } = await stage.peers(PEERS, setting)
    return [...(await contest([product, bridge, direct, ...entrants], load)), ...gaps]
  })
}
