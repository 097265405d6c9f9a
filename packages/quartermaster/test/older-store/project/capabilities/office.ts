import { AppError, defineCapability, defineTool } from 'quartermaster'
import { hangOnce, isOpen, note } from '../lib/words.js'

const input = {
  type: 'object',
  properties: { to: { type: 'string', description: 'Who gets it.' } },
  required: ['to'],
} as const
const consent = ['office.publish']

const publish = defineTool({
  name: 'publish',
  short: 'Publishes.',
  input,
  consent,
  handler({ to }) {
    note(`publish ${to}`)
    return `published to ${to}`
  },
})
const archive = defineTool({
  name: 'archive',
  short: 'Archives.',
  input,
  consent,
  handler: ({ to }) => note(`archive ${to}`),
})
const remove = defineTool({
  name: 'remove',
  short: 'Removes.',
  input,
  consent,
  handler: ({ to }) => note(`remove ${to}`),
})
const post = defineTool({
  name: 'post',
  short: 'Posts.',
  input,
  idempotent: true,
  retry: 'replay',
  handler({ to }) {
    if (!isOpen()) throw new AppError('DEPENDENCY_UNAVAILABLE', 'The office is closed.')
    note(`post ${to}`)
    return `posted to ${to}`
  },
})
const carry = defineTool({
  name: 'carry',
  short: 'Carries.',
  input,
  idempotent: true,
  retry: 'replay',
  async handler({ to }) {
    await hangOnce(`carry ${to}`)
    note(`carry ${to}`)
    return `carried to ${to}`
  },
})
const write = defineTool({
  name: 'write',
  short: 'Writes.',
  input,
  idempotent: true,
  retry: 'verifyFirst',
  effects: [{ name: 'line', kind: 'fileWritten', path: 'ran', contains: 'write {input.to}' }],
  async handler({ to }) {
    note(`write ${to}`)
    await hangOnce(`write ${to}`)
    return `written to ${to}`
  },
})
const hand = defineTool({
  name: 'hand',
  short: 'Hands over.',
  input,
  async handler({ to }) {
    await hangOnce(`hand ${to}`)
    note(`hand ${to}`)
    return `handed to ${to}`
  },
})

export default defineCapability({
  key: 'office',
  short: 'An office.',
  tools: [publish, archive, remove, post, carry, write, hand],
  consentOperations: [{ name: 'office.publish', reason: 'Others will see it.', weight: 'moderate' }],
})
