import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineCapability, defineTool } from 'quartermaster'

const book = join(import.meta.dirname, '..', 'paid.txt')

const pay = defineTool({
  name: 'pay',
  short: 'Pays somebody, which a person has to allow.',
  input: {
    type: 'object',
    properties: { to: { type: 'string' }, cents: { type: 'integer' } },
    required: ['to', 'cents'],
    additionalProperties: false,
  },
  consent: ['ledger.pay'],
  async handler({ to, cents }) {
    await appendFile(book, `${to} ${cents}\n`)
    return `${to} has ${cents} cents more.`
  },
})

export default defineCapability({
  key: 'ledger',
  short: 'What is paid to whom.',
  tools: [pay],
  consentOperations: [{ name: 'ledger.pay', reason: 'Pays from the till.', weight: 'moderate', scope: '{to}' }],
})
