import { defineCapability, defineTool } from 'quartermaster'

const customHeaders = defineTool({
  name: 'test_custom_headers',
  short: 'Takes arguments that clients repeat in headers.',
  input: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      priority: { type: 'integer', 'x-mcp-header': 'Priority' },
      note: { type: 'string' },
    },
    required: ['region'],
  },
  mutates: false,
  handler: ({ region }) => `The region is ${region}.`,
})

export default defineCapability({
  key: 'headers',
  short: 'A tool whose arguments stand in headers as well.',
  tools: [customHeaders],
})
