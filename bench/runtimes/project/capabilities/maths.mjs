// @ts-check
import { defineCapability, defineTool } from 'quartermaster'

const numbers = /** @type {const} */ ({
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
})
const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: numbers,
  output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  mutates: false,
  handler: ({ a, b }) => ({ sum: a + b }),
})

export default defineCapability({ key: 'maths', short: 'Maths.', tools: [add] })
