import { defineTool } from '../../../core/catalogue/index.ts'

/** Adds two numbers, and promises what comes out. */
export const add = defineTool({
  name: 'add',
  short: 'Adds.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  mutates: false,
  handler: ({ a, b }) => ({ sum: a + b }),
})
