import { once } from 'node:events'
import { AppError, defineCapability, defineTool, toolFailure } from 'quartermaster'

let cancelled = 0

const add = defineTool({
  name: 'add',
  short: 'Adds two numbers.',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  output: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  mutates: false,
  handler: ({ a, b }) => ({ sum: a + b }),
})

const refuse = defineTool({
  name: 'refuse',
  short: 'Says no, always.',
  input: { type: 'object', properties: {} },
  mutates: false,
  handler: () => toolFailure('The desk is closed.'),
})

const copy = defineTool({
  name: 'copy',
  short: 'Copies a page, if only the copier worked.',
  input: { type: 'object', properties: {} },
  output: { type: 'object', properties: { pages: { type: 'integer' } }, required: ['pages'] },
  mutates: false,
  handler() {
    throw new AppError('DEPENDENCY_UNAVAILABLE', 'The copier is out of paper.')
  },
})

const countTo = defineTool({
  name: 'count_to',
  short: 'Counts, and tells how far it has come.',
  input: { type: 'object', properties: { end: { type: 'integer' } }, required: ['end'] },
  mutates: false,
  handler({ end }, { progress }) {
    for (let count = 1; count <= end; count++) progress({ progress: count, total: end })
    return `Counted to ${end}.`
  },
})

const rest = defineTool({
  name: 'rest',
  short: 'Does nothing until it is told to stop.',
  input: { type: 'object', properties: {} },
  mutates: false,
  async handler(_input, { signal, progress }) {
    progress({ progress: 0 })
    await once(signal, 'abort')
    cancelled += 1
    return 'Up again.'
  },
})

const rests = defineTool({
  name: 'rests',
  short: 'Tells how many rests were cut short.',
  input: { type: 'object', properties: {} },
  output: { type: 'object', properties: { cancelled: { type: 'integer' } }, required: ['cancelled'] },
  mutates: false,
  handler: () => ({ cancelled }),
})

const askName = defineTool({
  name: 'ask_name',
  short: 'Asks the person for a name.',
  input: { type: 'object', properties: {} },
  output: {
    type: 'object',
    properties: { action: { type: 'string' }, name: { type: 'string' } },
    required: ['action'],
  },
  mutates: false,
  async handler(_input, { ask }) {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
    const { action, content } = await ask({ message: 'What is your name?', schema })
    return action === 'accept' ? { action, name: String(content?.name) } : { action }
  },
})

export default defineCapability({
  key: 'desk',
  short: 'What a clerk does at a desk.',
  tools: [add, copy, refuse, countTo, rest, rests, askName],
})
