import { setTimeout as delay } from 'node:timers/promises'
import { defineCapability, defineTool, toolResult } from 'quartermaster'
import { embedded, image, mixedResource, mixedText, sound } from '../parts/content.ts'
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
  handler: () => toolResult({ content: [sound] }),
})

const embeddedResource = defineTool({
  name: 'test_embedded_resource',
  short: 'Answers a resource.',
  input: NOTHING,
  mutates: false,
  handler: () => toolResult({ content: [embedded] }),
})

const multipleContentTypes = defineTool({
  name: 'test_multiple_content_types',
  short: 'Answers a text, an image and a resource.',
  input: NOTHING,
  mutates: false,
  handler: () => toolResult({ content: [mixedText, image, mixedResource] }),
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
