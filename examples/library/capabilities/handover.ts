import { defineInjection, defineTool } from 'quartermaster'

const report = defineTool({
  name: 'report_back',
  short: 'Ends a delegated task with its result.',
  input: { type: 'object', properties: { result: { type: 'string' } }, required: ['result'] },
  handler: ({ result }) => `Reported: ${result}`,
})

/** Every delegated run has this, whatever its agent was granted. */
export default defineInjection({ key: 'handover', short: 'Hands results over.', modes: ['delegated'], tools: [report] })
