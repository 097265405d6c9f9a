// @ts-check
import { product } from './product.mjs'

/** @typedef {import('./product.mjs').Core} Core */

/** Falls and recoveries count at once, so that a benchmark can have thousands of them. */
export const SWITCHING = {
  recoveringSeconds: 0,
  recheckCooldownSeconds: 0,
  successesAfterFlapping: 1,
  flapWindowSeconds: 1,
}

/**
 * A dependency whose state the benchmark switches.
 * @param {string} name
 * @param {{ answerAfter?: () => Promise<void> }} [options]
 */
export function switchedDependency(name, { answerAfter } = {}) {
  const state = { up: true, probes: 0, answeredAt: 0 }
  const definition = product.defineDependency({
    name,
    probe: {
      describe: { kind: 'switched', name },
      async run() {
        state.probes++
        await answerAfter?.()
        state.answeredAt = performance.now()
        return state.up ? { up: true } : { up: false, reason: 'It was switched off.' }
      },
    },
  })
  return { name, state, definition }
}

/** @typedef {ReturnType<typeof switchedDependency>} SwitchedDependency */

/**
 * Takes it away, as a failing call followed by a failing probe does; resolves when it is down.
 * @param {Core} core
 * @param {SwitchedDependency} dependency
 * @returns {Promise<void>}
 */
export function takeDown(core, { name, state }) {
  return new Promise(resolve => {
    const forget = core.emitter.on('dependency.changed', event => {
      if (event.name !== name || event.to !== 'down') return
      forget()
      resolve()
    })
    state.up = false
    core.health.reportFailure(name, 'The connection was lost.')
  })
}

/**
 * Brings it back by a recheck.
 * @param {Core} core
 * @param {SwitchedDependency} dependency
 */
export async function bringBack(core, { name, state }) {
  state.up = true
  await core.health.recheck(`dependency:${name}`, { force: true })
}
