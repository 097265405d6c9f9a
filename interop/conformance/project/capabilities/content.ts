import { setTimeout as delay } from 'node:timers/promises'
import { defineCapability, defineTool, toolResult } from 'quartermaster'
import { PIXEL, SILENCE } from '../parts/media.ts'
import schema from '../parts/schema-2020-12.json' with { type: 'json' }
import { NOTHING } from '../parts/schemas.ts'

const STEP_MS = 50

const simpleText = defineTool({
  name: 'test_simple_text',
  short: 'Answers a text.',
  input: NOTHING,
  mutates: false,
  handler: () => 'This is a simple text response for testing.',
})

const image = { type: 'image', data: PIXEL, mimeType: 'image/png' } as const

const imageContent = defineTool({
  name: 'test_image_content',
  short: 'Answers an image.',
  input: NOTHING,
  mutates: false,
  handler: () => toolResult({ content: [image] }),
})

const audioContent = defineTool({
  name: 'test_audio_content',
  short: 'Answers a sound.',
  input: NOTHING,
  mutates: false,
  handler: () => toolResult({ content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }] }),
})

const embeddedResource = defineTool({
  name: 'test_embedded_resource',
  short: 'Answers a resource.',
  input: NOTHING,
  mutates: false,
  handler() {
    const text = 'This is an embedded resource content.'
    const resource = { uri: 'test://embedded-resource', mimeType: 'text/plain', text }
    return toolResult({ content: [{ type: 'resource', resource }] })
  },
})

const multipleContentTypes = defineTool({
  name: 'test_multiple_content_types',
  short: 'Answers a text, an image and a resource.',
  input: NOTHING,
  mutates: false,
  handler() {
    const json = JSON.stringify({ test: 'data', value: 123 })
    const resource = { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: json }
    const text = { type: 'text', text: 'Multiple content types test:' } as const
    return toolResult({ content: [text, image, { type: 'resource', resource }] })
  },
})

const errorHandling = defineTool({
  name: 'test_error_handling',
  short: 'Fails, always.',
  input: NOTHING,
  mutates: false,
  handler() {
    throw new Error('This tool intentionally returns an error for testing')
  },
})

const withLogging = defineTool({
  name: 'test_tool_with_logging',
  short: 'Writes three lines to the log while it runs.',
  input: NOTHING,
  mutates: false,
  async handler(_input, { log }) {
    log.info('Tool execution started')
    await delay(STEP_MS)
    log.info('Tool processing data')
    await delay(STEP_MS)
    log.info('Tool execution completed')
    return 'Three lines were written.'
  },
})

const loggingTool = defineTool({
  name: 'test_logging_tool',
  short: 'Writes a line to the log.',
  input: NOTHING,
  mutates: false,
  handler(_input, { log }) {
    log.info('A line for whoever asked for the log')
    return 'A line was written.'
  },
})

const withProgress = defineTool({
  name: 'test_tool_with_progress',
  short: 'Tells how far it has come while it runs.',
  input: NOTHING,
  mutates: false,
  async handler(_input, { progress }) {
    for (const step of [0, 50, 100]) {
      progress({ progress: step, total: 100 })
      await delay(STEP_MS)
    }
    return 'Progress was told three times.'
  },
})

const reconnection = defineTool({
  name: 'test_reconnection',
  short: 'Takes a moment.',
  input: NOTHING,
  mutates: false,
  async handler() {
    await delay(STEP_MS)
    return 'Reconnection test completed successfully.'
  },
})

const jsonSchema = defineTool({
  name: 'json_schema_2020_12_tool',
  short: 'Takes an input that JSON Schema of 2020-12 is needed to describe.',
  input: schema,
  mutates: false,
  handler: input => JSON.stringify(input),
})

export default defineCapability({
  key: 'content',
  short: 'Tools that answer every kind of content.',
  tools: [
    simpleText,
    imageContent,
    audioContent,
    embeddedResource,
    multipleContentTypes,
    errorHandling,
    withLogging,
    loggingTool,
    withProgress,
    reconnection,
    jsonSchema,
  ],
})
