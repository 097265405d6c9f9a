import { openToolbox } from 'quartermaster'
import { expect, it, onTestFinished, vi } from 'vitest'
import { startWithoutCode } from '../support/without-code.ts'
import { RUNTIMES } from './runtimes.ts'

it('two Markdown files are two tools of an agent in LangChain, and everything follows when one is renamed', async () => {
  const { product, asked, rename, stop } = await startWithoutCode()
  onTestFinished(stop)
  const { token } = await product.issue('default')
  const toolbox = await openToolbox({ url: product.mcpUrl, token })
  onTestFinished(() => toolbox.close())
  const run = (weather: string, city: string) =>
    RUNTIMES.LangChain?.(toolbox, ({ outputs }) => {
      if (outputs.length === 0) return { tool: weather, input: { city } }
      if (outputs.length === 1) return { tool: 'count_lines', input: { file: 'notes/list.txt' } }
      return undefined
    })
  expect(await run('get_weather', 'Bern')).toMatch(/^Done:\s+3 notes\/list\.txt/)
  expect(asked).toEqual([{ path: '/v1/cities/Bern/weather', key: 'Bearer k-1234567890' }])

  await rename('weather_now')
  await vi.waitUntil(async () => (await toolbox.tools()).some(({ name }) => name === 'weather_now'), {
    timeout: 300_000,
  })
  expect(await run('weather_now', 'Thun')).toMatch(/^Done:\s+3 notes/)
  expect(asked.at(-1)?.path).toBe('/v1/cities/Thun/weather')
  for (const line of [
    ['prompt', 'default'],
    ['prompt', 'default', '--shell'],
    ['docs', '--path', 'tool:weather_now'],
    ['tools'],
  ]) {
    const { code, stdout } = await product.run(...line)
    expect({ line, code, isNew: /weather[_-]now/.test(stdout), isOld: /get[_-]weather/.test(stdout) }).toEqual({
      line,
      code: 0,
      isNew: true,
      isOld: false,
    })
  }
  expect((await product.run('do', 'weather-now', 'Thun')).stdout).toContain('12')
})
