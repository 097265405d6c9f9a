import { cp, rename, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createQuartermaster } from '../src/index.ts'
import { sendJson, testSite } from '../src/testing/op-fixture.ts'
import { tempProject } from '../src/testing/temp-project.ts'

const EXAMPLE = fileURLToPath(new URL('../../../examples/no-code', import.meta.url))

/** The example of the page, with a weather service on this machine. */
async function example(secrets = '{ "WEATHER_KEY": "k-1234567890" }') {
  const site = await testSite((_, response) => sendJson(response, { main: { temp: 12 }, wind: { speed: 3 }, more: 1 }))
  const project = await tempProject()
  await cp(EXAMPLE, project.dir, { recursive: true, filter: path => !path.endsWith('.quartermaster') })
  await project.write('.quartermaster/secrets.json', secrets, 0o600)
  const file = 'knowledge/weather/get_weather.md'
  const text = await project.read(file)
  const here = text
    .replace('https://api.example.com', site.origin)
    .replace('\n  response:', '\n  privateHosts: [localhost]\n  response:')
  await project.write(file, here)
  const quartermaster = await createQuartermaster({ dir: project.dir, env: {} })
  onTestFinished(() => quartermaster.stop())
  return { project, site, quartermaster }
}

it('two Markdown files are two tools that work, and everything follows when one is renamed', async () => {
  const { project, site, quartermaster } = await example()
  const call = (tool: string, input: object) => quartermaster.call({ agent: 'default', tool, input })
  const weather = await call('get_weather', { city: 'Bern' })
  expect(weather.result).toMatchObject({ structuredContent: { temperature: 12, wind: 3 } })
  expect(site.seen[0]).toMatchObject({
    url: '/v1/cities/Bern/weather',
    headers: { authorization: 'Bearer k-1234567890' },
  })
  const lines = await call('count_lines', { file: 'notes/list.txt' })
  expect(lines.result.content[0]).toMatchObject({ text: expect.stringMatching(/^\s*3 notes\/list\.txt\n$/) })
  const closed = await call('count_lines', { file: '.quartermaster/secrets.json' })
  expect(closed.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('data folder') }] })

  await rename(project.path('knowledge/weather/get_weather.md'), project.path('knowledge/weather/weather_now.md'))
  await quartermaster.reload()
  await expect(call('get_weather', { city: 'Bern' })).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
  expect((await call('weather_now', { city: 'Thun' })).result.isError).toBeFalsy()
})

// Windows keeps no modes of files.
it.skipIf(process.platform === 'win32')(
  'a tool whose secret is missing works as soon as it is there and reloaded, and says what is in the way',
  async () => {
    const { project, quartermaster } = await example('{}')
    const call = () => quartermaster.call({ agent: 'default', tool: 'get_weather', input: { city: 'Bern' } })
    const write = async (mode: number) => {
      const file = '.quartermaster/secrets.json'
      await rm(project.path(file))
      await project.write(file, '{ "WEATHER_KEY": "k-1234567890" }', mode)
      await quartermaster.reload()
    }
    await expect(call()).rejects.toThrow('There is no secret named "WEATHER_KEY".')
    await write(0o644)
    await expect(call()).rejects.toThrow(/secrets\.json is not read: Others .*mode 644/)
    await write(0o600)
    expect((await call()).result.structuredContent).toMatchObject({ temperature: 12 })
  },
)
