import { defineCapability, defineTool } from 'quartermaster'

const number = { type: 'number' } as const

const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: { type: 'object', properties: { a: number, b: number }, required: ['a', 'b'] },
  output: { type: 'object', properties: { sum: number }, required: ['sum'] },
  mutates: false,
  handler: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
})

export default defineCapability({ key: 'sums', short: 'Sums.', tools: [add] })
