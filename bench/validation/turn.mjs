// @ts-check
import { figure } from '../lib/figure.mjs'
import { createSchemaCompiler } from '../lib/product.mjs'
import { CASES } from './cases.mjs'

/** Everybody else waits at most so long for one value of a megabyte, and of eight at most so many times as for reading and writing it. */
const GOAL_MS = 100
const GOAL_TIMES = 2

/**
 * How long one check of a value holds the event loop: it is one turn.
 * @param {{ sizes: readonly number[] }} options
 */
export async function run({ sizes }) {
  return sizes.flatMap(figuresAt)
}

/** @param {number} bytes */
function figuresAt(bytes) {
  const turns = CASES.map(one => turnOf(one, bytes))
  const millions = `${bytes / 1e6} MB`
  const longest = turns.reduce((most, turn) => (turn.checkMs > most.checkMs ? turn : most))
  // A small value that is refused says nothing about large ones.
  const slowest = turns
    .filter(({ copyMs }) => copyMs > 1)
    .reduce((most, turn) => (turn.times > most.times ? turn : most))
  const compiling = turns.reduce((most, turn) => (turn.compileMs > most.compileMs ? turn : most))
  return [
    ...turns.map(({ name, checkMs, answer }) => figure(`${millions}, ${name}: ${answer}`, checkMs, 'ms')),
    figure(
      `the longest turn at ${millions}: ${longest.name}`,
      longest.checkMs,
      'ms',
      bytes > 1e6 ? undefined : GOAL_MS,
    ),
    figure(
      `the most against parse and stringify at ${millions}: ${slowest.name}`,
      slowest.times,
      'times',
      bytes > 1e6 ? GOAL_TIMES : undefined,
    ),
    figure(`the longest compilation of a schema: ${compiling.name}`, compiling.compileMs, 'ms'),
  ]
}

/**
 * @param {import('./cases.mjs').Case} one
 * @param {number} bytes
 */
function turnOf({ name, schema, value: make }, bytes) {
  const value = make(bytes)
  const { compile } = createSchemaCompiler()
  /** @type {ReturnType<typeof compile>} */
  let validate = () => ({ ok: true, value })
  const compileMs = timed(() => {
    validate = compile(schema)
  })
  let answer = 'fits'
  const checkMs = timed(() => {
    const checked = validate(value)
    if (!checked.ok) answer = checked.issues[0]?.message.includes('too many steps') ? 'refused' : 'does not fit'
  })
  const copyMs = timed(() => JSON.parse(JSON.stringify(value)))
  return { name, answer, compileMs, checkMs, copyMs, times: checkMs / copyMs }
}

/** @param {() => void} work */
function timed(work) {
  const start = performance.now()
  work()
  return performance.now() - start
}
