import { expect, it, onTestFinished } from 'vitest'
import { onceOffered } from '../support/script.ts'
import { startWithoutCode } from '../support/without-code.ts'
import { runClaude } from './claude-code.ts'
import { scriptedClaude } from './scripted-claude.ts'

const weather = (tool: string) => ({ tool: `mcp__desk__${tool}`, input: { city: 'Bern' } })
const COUNT = { tool: 'mcp__desk__count_lines', input: { file: 'notes/list.txt' } }

it('Claude Code calls two tools that are two Markdown files, and sees one under its new name while it works', async () => {
  const { product, asked, rename, stop } = await startWithoutCode()
  onTestFinished(stop)
  const { token } = await product.issue('default')
  const renamed = onceOffered(weather('weather_now'), COUNT)
  const { workplace } = await scriptedClaude(async turn => {
    if (turn.outputs.length === 0) return weather('get_weather')
    if (turn.outputs.length === 1) await rename('weather_now')
    return renamed(turn)
  })
  const { results } = await runClaude({ workplace, server: { url: product.mcpUrl, token } })
  expect(results[0]).toEqual({ isError: false, text: expect.stringContaining('12') })
  expect(results[1]).toEqual({ isError: false, text: expect.stringContaining('3 notes/list.txt') })
  expect(results.at(-1)).toEqual({ isError: false, text: expect.stringContaining('12') })
  expect(asked.map(({ path }) => path)).toEqual(['/v1/cities/Bern/weather', '/v1/cities/Bern/weather'])
})
