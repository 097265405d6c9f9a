// @ts-check
import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createQuartermaster, openToolbox } from 'quartermaster'
import { figureOfRounds } from '../lib/figure.mjs'
import { AGENT, onStageOf } from '../lib/stage.mjs'
import { median } from '../lib/statistics.mjs'
import { inAgentsSdk, inAiSdk, inFunctions, inLangchain, inServers } from './runtimes.mjs'

const PROJECT = fileURLToPath(new URL('project', import.meta.url))

/** @typedef {import('./runtimes.mjs').Call} Call */

/**
 * A small tool through every runtime, in turns. The toolbox in this process is the call path and next to nothing else, so all
 * are set against it.
 * @param {{ warmUp: number, rounds: number, calls: number }} options
 */
export function run(options) {
  return onStageOf(
    ground => ground,
    async ({ folder, upWithToken, atEnd }) => {
      const [here, there] = [await folder(), await folder()]
      for (const dir of [here, there]) await cp(PROJECT, dir, { recursive: true })
      const host = await createQuartermaster({ dir: here, env: {} })
      atEnd(() => host.stop())
      const { server, token } = await upWithToken({ cwd: there })
      const remote = await openToolbox({ url: `${server.url}/mcp`, token })
      atEnd(() => remote.close())
      const toolbox = host.toolbox(AGENT)
      /** @type {Record<string, Call>} */
      const runtimes = {
        'toolbox in process': input => toolbox.call('add', input),
        LangChain: await inLangchain(toolbox),
        'AI SDK': await inAiSdk(toolbox),
        'OpenAI functions': await inFunctions(toolbox),
        'OpenAI Agents SDK': await inAgentsSdk(toolbox),
        'servers of resolve, over MCP in process': await inServers(host),
        'toolbox behind an up': input => remote.call('add', input),
      }
      return contest(runtimes, options)
    },
  )
}

/**
 * @param {Record<string, Call>} runtimes the first is what the others are set against
 * @param {Parameters<typeof run>[0]} options
 */
async function contest(runtimes, { warmUp, rounds, calls }) {
  const entries = Object.entries(runtimes)
  for (const [name, call] of entries) {
    await expectRight(name, call)
    await timed(call, warmUp)
  }
  /** @type {Map<string, number[]>} */
  const times = new Map(entries.map(([name]) => [name, []]))
  for (let round = 0; round < rounds; round++)
    for (const [name, call] of entries) times.get(name)?.push(median(await timed(call, calls)))
  const [[first, base = []] = ['', []]] = times
  return [...times].flatMap(([name, own]) => {
    const p50 = figureOfRounds(`${name}, p50`, own, 'µs')
    if (name === first) return [p50]
    const ratios = own.map((time, round) => time / (base[round] ?? Number.NaN))
    return [p50, figureOfRounds(`${name}, against the ${first}`, ratios, 'times')]
  })
}

/** A runtime that answers something else is not measured. @param {string} name @param {Call} call */
async function expectRight(name, call) {
  const answer = JSON.stringify(await call({ a: 20, b: 22 }))
  if (!answer.includes('42')) throw new Error(`${name} answered ${answer}.`)
}

/** Microseconds of each call. @param {Call} call @param {number} calls */
async function timed(call, calls) {
  const times = []
  for (let n = 0; n < calls; n++) {
    const begun = performance.now()
    await call({ a: n, b: 1 })
    times.push((performance.now() - begun) * 1000)
  }
  return times
}
