// @ts-check
import { figureOfRounds } from '../lib/figure.mjs'
import { product } from '../lib/product.mjs'
import { median, p99 } from '../lib/statistics.mjs'
import { openBareDriver } from './bare-driver.mjs'
import { crowd } from './crowd.mjs'
import { INPUT, openHouse, withStore } from './house.mjs'

/** @typedef {import('../lib/figure.mjs').Figure} Figure */
/** @typedef {import('./crowd.mjs').Round} Round */
/** @typedef {{ name: string, work: (n: number) => unknown }} Kind */

/** A recorded call is committed twice, before it runs and when it has ended, and the store allows each three times the bare one. */
const TIMES_THE_FLOOR = 6

/**
 * The same small tool called in this process: read-only, recorded, and recorded with what can come on top.
 * @param {object} options
 * @param {readonly number[]} options.inFlight
 * @param {number} options.warmUp
 * @param {number} options.rounds
 * @param {number} options.calls
 */
export function run({ inFlight, warmUp, rounds, calls }) {
  return withStore(async ({ dir, storage }) => {
    const { core, kinds } = await openKinds(storage)
    const bare = await openBareDriver(dir)
    const floor = { name: 'bare commit', work: bare.commit }
    for (const { work } of kinds) await crowd({ count: warmUp, inFlight: 16 }, work)
    const figures = []
    for (const level of inFlight) {
      // A driver on this thread does one after the other, whoever waits.
      const all = level === 1 ? [floor, ...kinds] : kinds
      figures.push(...figuresOf(await inTurns(all, { rounds, calls, inFlight: level }), level))
    }
    bare.close()
    if (core.operations.running().length > 0) throw new Error('A call that has ended is still on record as running.')
    await core.stop()
    return figures
  })
}

/**
 * @param {import('./house.mjs').Storage} storage
 * @returns {Promise<{ core: import('./house.mjs').Core, kinds: Kind[] }>}
 */
async function openKinds(storage) {
  const { core, seat } = await openHouse({ storage, capability: capabilityOf(), allow: ['sums.keep'] })
  let next = 0
  /** @param {string} tool @param {() => object} [more] */
  const calling = (tool, more) => async () => {
    const { result } = await core.calls.call({ session: seat, tool, input: { n: next++ }, ...more?.() })
    if (result.isError) throw new Error(`"${tool}" failed: ${JSON.stringify(result.content)}`)
  }
  const kinds = [
    { name: 'read-only', work: calling('look') },
    { name: 'recorded', work: calling('keep') },
    { name: 'recorded, with a key', work: calling('keep', () => ({ idempotencyKey: `key-${next}` })) },
    { name: 'recorded, on a standing grant', work: calling('keep_allowed') },
    { name: 'recorded, an effect verified', work: calling('keep_verified') },
  ]
  return { core, kinds }
}

function capabilityOf() {
  /** @type {Set<string>} */
  const kept = new Set()
  const common = { short: 'Keeps a number.', input: INPUT, idempotent: true }
  /** @param {{ n: number }} input */
  const answer = ({ n }) => `${n}`
  const keptEffect = product.defineEffect({
    kind: 'kept',
    fields: ['id'],
    // In memory: what is measured is what is around the look.
    look: ({ id }) => kept.has(String(id)),
  })
  return {
    key: 'sums',
    short: 'Numbers.',
    effectKinds: [keptEffect],
    consentOperations: [{ name: 'sums.keep', reason: 'Keeps a number.', weight: /** @type {const} */ ('low') }],
    tools: [
      product.defineTool({ name: 'look', short: 'Looks at a number.', input: INPUT, mutates: false, handler: answer }),
      product.defineTool({ name: 'keep', ...common, handler: answer }),
      product.defineTool({ name: 'keep_allowed', ...common, consent: ['sums.keep'], handler: answer }),
      product.defineTool({
        name: 'keep_verified',
        ...common,
        retry: 'verifyFirst',
        effects: [{ name: 'number', kind: 'kept', id: '{operationId}' }],
        handler: (input, { operationId }) => (kept.add(operationId), answer(input)),
      }),
    ],
  }
}

/** @typedef {{ name: string, rounds: Round[] }} Measured */

/**
 * In turns: what a shared machine does meanwhile then happens to all of them alike.
 * @param {readonly Kind[]} kinds
 * @param {{ rounds: number, calls: number, inFlight: number }} load
 */
async function inTurns(kinds, { rounds, calls, inFlight }) {
  /** @type {Measured[]} */
  const measured = kinds.map(({ name }) => ({ name, rounds: [] }))
  for (let i = 0; i < rounds; i++)
    for (const [k, { work }] of kinds.entries()) measured[k]?.rounds.push(await crowd({ count: calls, inFlight }, work))
  return measured
}

/**
 * @param {readonly Measured[]} measured
 * @param {number} inFlight
 * @returns {Figure[]}
 */
function figuresOf(measured, inFlight) {
  const title = `${inFlight} in flight`
  const plain = measured.flatMap(({ name, rounds }) => [
    figureOfRounds(`${title}, ${name}, p50`, rounds.map(p50Of), 'µs'),
    figureOfRounds(`${title}, ${name}, p99`, rounds.map(p99Of), 'µs'),
    figureOfRounds(
      `${title}, ${name}`,
      rounds.map(({ perSecond }) => perSecond),
      'calls/s',
    ),
    figureOfRounds(
      `${title}, ${name}, processor time of each`,
      rounds.map(({ cpuUs }) => cpuUs),
      'µs',
    ),
  ])
  return [...plain, ...ratiosOf(measured, title)]
}

/**
 * What each costs against what it comes on top of, round by round.
 * @param {readonly Measured[]} measured
 * @param {string} title
 */
function ratiosOf(measured, title) {
  /** @param {string} name */
  const roundsOf = name => measured.find(one => one.name === name)?.rounds ?? []
  /** @param {string} ours @param {string} theirs @param {number} [goal] */
  const against = (ours, theirs, goal) =>
    figureOfRounds(
      `${title}, ${ours} against ${theirs}, p50`,
      roundsOf(ours).map((round, i) => p50Of(round) / p50Of(roundsOf(theirs)[i] ?? round)),
      'times',
      goal,
    )
  const onTop = measured.map(({ name }) => name).filter(name => name.startsWith('recorded,'))
  return [
    ...(roundsOf('bare commit').length > 0 ? [against('recorded', 'bare commit', TIMES_THE_FLOOR)] : []),
    against('recorded', 'read-only'),
    ...onTop.map(name => against(name, 'recorded')),
  ]
}

/** @param {Round} round */
const p50Of = ({ latenciesUs }) => median(latenciesUs)
/** @param {Round} round */
const p99Of = ({ latenciesUs }) => p99(latenciesUs)
