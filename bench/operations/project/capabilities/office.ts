import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, defineCapability, defineTool } from 'quartermaster'

const folder = join(import.meta.dirname, '..')
const at = (...path: string[]) => join(folder, ...path)

const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
const common = { short: 'Keeps a number.', input, output, idempotent: true } as const

const look = defineTool({
  name: 'look',
  short: 'Looks at a number.',
  input,
  output,
  mutates: false,
  handler: ({ n }) => ({ n }),
})
const keep = defineTool({ name: 'keep', ...common, handler: ({ n }) => ({ n }) })
const keepAllowed = defineTool({
  name: 'keep_allowed',
  ...common,
  consent: ['office.keep'],
  handler: ({ n }) => ({ n }),
})
const keepVerified = defineTool({
  name: 'keep_verified',
  ...common,
  retry: 'verifyFirst',
  effects: [{ name: 'page', kind: 'fileWritten', path: 'kept/{operationId}', contains: '{operationId}' }],
  handler({ n }, { operationId }) {
    writeFileSync(at('kept', operationId), operationId)
    return { n }
  },
})

/** Closed until the file says otherwise, which says when to come back. */
function refuseClosed(): void {
  if (existsSync(at('open'))) return
  const retryAfterMs = Number(readFileSync(at('opens-at'), 'utf8')) - Date.now()
  throw new AppError('DEPENDENCY_UNAVAILABLE', 'It is closed.', { details: { retryAfterMs } })
}

/** Is done again after a run of which nobody knows, and tells a repeat by its key. */
const post = defineTool({
  name: 'post',
  short: 'Posts a letter.',
  input,
  idempotent: true,
  retry: 'replay',
  handler({ n }, { idempotencyKey }) {
    refuseClosed()
    appendFileSync(at('tries'), `post ${n}\n`)
    // A second one under the same key is the same letter.
    writeFileSync(at('posted', idempotencyKey), `letter ${n}\n`)
    return `Posted ${n}.`
  },
})

/** Would be done twice if it were run twice: whether it was done is found out by looking. */
const file = defineTool({
  name: 'file',
  short: 'Files a letter.',
  input,
  idempotent: true,
  retry: 'verifyFirst',
  effects: [{ name: 'letter', kind: 'fileWritten', path: 'filed/{operationId}', contains: 'letter {input.n}' }],
  handler({ n }, { operationId }) {
    refuseClosed()
    appendFileSync(at('tries'), `file ${n}\n`)
    appendFileSync(at('filed', operationId), `letter ${n}\n`)
    return `Filed ${n}.`
  },
})

export default defineCapability({
  key: 'office',
  short: 'An office.',
  tools: [look, keep, keepAllowed, keepVerified, post, file],
  consentOperations: [{ name: 'office.keep', reason: 'Keeps a number.', weight: 'low' }],
})
