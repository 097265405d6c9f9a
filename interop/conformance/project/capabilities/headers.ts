import { defineCapability, defineTool } from 'quartermaster'
import schemas from '../parts/schemas.json' with { type: 'json' }

const customHeaders = defineTool({
  name: 'test_custom_headers',
  short: 'Takes arguments that clients repeat in headers.',
  input: schemas.headers,
  mutates: false,
  handler: ({ region }) => `The region is ${region}.`,
})

export default defineCapability({
  key: 'headers',
  short: 'A tool whose arguments stand in headers as well.',
  tools: [customHeaders],
})
