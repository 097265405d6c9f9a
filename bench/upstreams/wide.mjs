// @ts-check
import { contest } from '../gateway/contest.mjs'
import { ADD } from '../gateway/workloads.mjs'
import { adder, onStage, program } from './stage.mjs'

/** What a call may cost where there are many tools, against where there are few. */
const MANY_TIMES = 1.5

/**
 * The same calls of one of many tools, and of one of few.
 * @param {import('../gateway/contest.mjs').Contest & { many: number, few: number }} options
 */
export function run({ many, few, ...load }) {
  return onStage(async stage => {
    const of = (/** @type {number} */ tools) =>
      stage.product({
        name: `Quartermaster with ${tools} tools`,
        servers: { adder: program(adder(`--tools=${tools}`)) },
        tool: ADD,
        front: 'modern',
      })
    return contest([await of(many), { ...(await of(few)), allowed: { times: MANY_TIMES } }], load)
  })
}
