import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { defineCapability, defineTool } from 'quartermaster'

const letters = join(import.meta.dirname, '..', 'outbox', 'letters.txt')

const sendLetter = defineTool({
  name: 'send_letter',
  short: 'Sends a letter.',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, text: { type: 'string', pattern: '^[^\\n]+$' } },
    required: ['to', 'text'],
  },
  consent: ['letters.send'],
  effects: [
    {
      name: 'letter',
      kind: 'lineAppended',
      within: 'outbox',
      path: 'letters.txt',
      line: '{operationId} to {input.to}: {input.text}',
    },
  ],
  retry: 'verifyFirst',
  idempotent: true,
  timeoutMs: 120_000,
  async handler({ to, text }, { operationId, signal }) {
    await appendFile(letters, `${operationId} to ${to}: ${text}\n`)
    // The letter is out, and the post office takes a minute to say so. A crash now must not send it twice.
    await wait(60_000, undefined, { signal })
    return `The letter to ${to} is sent.`
  },
})

export default defineCapability({
  key: 'letters',
  short: 'Letters.',
  tools: [sendLetter],
  consentOperations: [
    { name: 'letters.send', reason: 'Sends a letter in your name.', weight: 'moderate', scope: '{to}' },
  ],
})
