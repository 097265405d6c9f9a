import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { SETTINGS } from '../../contracts/index.ts'
import { golden } from '../../testing/golden.ts'
import { agentJsonSchema, configJsonSchema } from './index.ts'
import { schemaText } from './json-schemas.ts'

const folder = new URL('../../../schemas/', import.meta.url)

describe('the JSON Schemas for editors', () => {
  it.each([
    ['config.schema.json', configJsonSchema],
    ['agent.schema.json', agentJsonSchema],
  ])('%s is what the schemas in the code say (golden)', (file, schema) => {
    const text = schemaText(schema())
    expect(golden(new URL(file, folder), text)).toBe(text)
  })

  it('describe every field and give every setting its default', () => {
    const config = JSON.parse(schemaText(configJsonSchema()))
    const agent = JSON.parse(schemaText(agentJsonSchema()))
    for (const schema of [config, agent]) {
      expect(schema).toMatchObject({
        title: expect.any(String),
        description: expect.any(String),
        type: 'object',
        additionalProperties: false,
      })
      for (const property of Object.values<{ title?: string }>(schema.properties))
        expect(property).toMatchObject({ title: expect.any(String) })
    }
    for (const [key, { default: value, reason }] of Object.entries(SETTINGS)) {
      expect(config.properties.settings.properties[key]).toMatchObject({ default: value, description: reason })
    }
    expect(agent.properties.capabilities.additionalProperties.properties.tools.description).toEqual(expect.any(String))
  })

  it('accept what we accept and refuse what we refuse', () => {
    const ajv = new Ajv({ strict: false, formats: { uri: true } })
    const config = ajv.compile(configJsonSchema())
    const agent = ajv.compile(agentJsonSchema())
    expect([
      config({}),
      config({ settings: { logLevel: 'debug' }, dependencies: { mail: { enabled: false } } }),
    ]).toEqual([true, true])
    expect([
      config({ x: 1 }),
      config({ settings: { logLevel: 'loud' } }),
      config({ dependencies: { mail: { x: 1 } } }),
    ]).toEqual([false, false, false])
    expect([
      agent({ capabilities: { files: { dirs: ['.'] } }, consent: {} }),
      agent({}),
      agent({ capabilities: { files: { tools: 'all' } } }),
    ]).toEqual([true, false, false])
  })
})
