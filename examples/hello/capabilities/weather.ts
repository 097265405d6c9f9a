import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineCapability, defineDependency, defineTool } from 'quartermaster'
import { path } from 'quartermaster/probes'

const file = join(import.meta.dirname, '..', 'weather.json')

const station = defineDependency({ name: 'station', probe: path({ path: file }), fix: 'Write weather.json.' })

const weather = defineTool({
  name: 'get_weather',
  short: 'Tells the weather in a city.',
  input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  requires: ['station'],
  mutates: false,
  handler: async ({ city }) => JSON.parse(await readFile(file, 'utf8'))[city] ?? `No weather for ${city}.`,
})

export default defineCapability({ key: 'weather', short: 'The weather.', dependencies: [station], tools: [weather] })
