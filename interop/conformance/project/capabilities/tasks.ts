import { setTimeout as delay } from 'node:timers/promises'
import { AppError, type CallContext, defineCapability, defineTool, toolFailure } from 'quartermaster'
import { NOTHING, oneText } from '../parts/schemas.ts'

const LONG_MS = 120_000
/** Longer than a call may take before its caller gets a task to follow. */
const A_WHILE_MS = 300

const greet = defineTool({
  name: 'greet',
  short: 'Greets at once.',
  input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  mutates: false,
  handler: ({ name }) => `Hello, ${name}!`,
})

const slowCompute = defineTool({
  name: 'slow_compute',
  short: 'Takes as long as it is told.',
  input: {
    type: 'object',
    properties: { seconds: { type: 'number' }, label: { type: 'string' } },
    required: ['seconds'],
  },
  mutates: false,
  asTask: 'whenPossible',
  timeoutMs: LONG_MS,
  async handler({ seconds, label }, { signal }) {
    await delay(seconds * 1_000, undefined, { signal })
    return `Computed ${label ?? 'something'} in ${seconds} s.`
  },
})

const failingJob = defineTool({
  name: 'failing_job',
  short: 'Fails after a second.',
  input: NOTHING,
  mutates: false,
  asTask: 'always',
  async handler(_input, { signal }) {
    await delay(1_000, undefined, { signal })
    return toolFailure('The job failed.')
  },
})

const protocolErrorJob = defineTool({
  name: 'protocol_error_job',
  short: 'Breaks after a while.',
  input: NOTHING,
  mutates: false,
  asTask: 'always',
  async handler(_input, { signal }) {
    await delay(A_WHILE_MS, undefined, { signal })
    throw new AppError('INTERNAL', 'The job broke.')
  },
})

const confirmDelete = defineTool({
  name: 'confirm_delete',
  short: 'Asks whether to delete a file, after a while.',
  input: { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] },
  mutates: false,
  asTask: 'whenPossible',
  timeoutMs: LONG_MS,
  async handler({ filename }, context) {
    await delay(A_WHILE_MS, undefined, { signal: context.signal })
    const schema = { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] }
    const { content } = await context.ask({ message: `Delete ${filename}?`, schema })
    return content?.confirm === true ? `Deleted ${filename}.` : `Kept ${filename}.`
  },
})

const multiInput = defineTool({
  name: 'multi_input',
  short: 'Asks for two names at once, after a while.',
  input: NOTHING,
  mutates: false,
  asTask: 'whenPossible',
  timeoutMs: LONG_MS,
  async handler(_input, context) {
    await delay(A_WHILE_MS, undefined, { signal: context.signal })
    const names = await Promise.all(['first', 'second'].map(key => askName(context, key)))
    return `Hello, ${names.join(' and ')}!`
  },
})

const withTask = defineTool({
  name: 'test_tool_with_task',
  short: 'Asks for a name at once, then takes a while.',
  input: NOTHING,
  mutates: false,
  asTask: 'always',
  async handler(_input, context) {
    const name = await askName(context, 'user_name')
    await delay(A_WHILE_MS, undefined, { signal: context.signal })
    return `Hello, ${name}!`
  },
})

async function askName(context: CallContext, key: string): Promise<string> {
  const { content } = await context.ask({ key, message: 'What is your name?', schema: oneText('name') })
  return String(content?.name)
}

export default defineCapability({
  key: 'tasks',
  short: 'Tools that take long, and one that does not.',
  tools: [greet, slowCompute, failingJob, protocolErrorJob, confirmDelete, multiInput, withTask],
})
