import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AuditPage, CallAnswer, OperationPage, OperationVerification } from '../src/contracts/index.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

/** Loses its line before it can say whether it wrote; one more says more than fits into an answer. */
const CAPABILITY = `
  import { AppError, defineCapability, defineTool } from 'quartermaster'
  const input = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] }
  const note = defineTool({
    name: 'note', short: 'Writes a note.', input, idempotent: true,
    effects: [{ name: 'note', kind: 'fileWritten', path: 'notes/{input.title}.md', contains: '{input.title}' }],
    handler() { throw new AppError('OUTCOME_UNKNOWN', 'The line broke.') },
  })
  const report = defineTool({
    name: 'report', short: 'Reports at length.', input: { type: 'object' }, maxResultBytes: 1024,
    handler: () => 'a line of it\\n'.repeat(500),
  })
  export default defineCapability({ key: 'desk', short: 'A desk.', tools: [note, report] })
`

async function fixture() {
  const dir = await makeProject({
    'capabilities/desk.js': CAPABILITY,
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
    'notes/.keep': '',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  return { dir, run }
}

describe('an operation with an unknown outcome', () => {
  it('is looked at by a person, and on record as done when what it leaves behind is there', async () => {
    const { dir, run } = await fixture()
    expect((await run('call', 'note', 'title=plans')).code).toBe(5)
    const listed = (await run('operations', 'list', '--state', 'unknown', '--json')).json<OperationPage>()
    const id = listed.operations[0]?.id ?? ''
    const absent = await run('operations', 'verify', id)
    expect([absent.code, absent.stdout]).toEqual([1, expect.stringMatching(/^note +fileWritten +absent +There is no/m)])
    expect(absent.stderr).toContain(`quartermaster operations retry ${id}`)
    await startUp(dir)
    await writeFile(join(dir, 'notes/plans.md'), '# plans\n')
    const done = await run('operations', 'verify', id, '--json')
    expect([done.code, done.json<OperationVerification>()]).toMatchObject([
      0,
      { verdict: 'verified', changedFrom: 'unknown', operation: { id, state: 'succeeded', outcome: 'succeeded' } },
    ])
    const { lines } = (await run('logs', '--tool', 'note', '--json')).json<AuditPage>()
    expect(lines.map(({ outcome }) => outcome)).toEqual(['succeeded', 'unknown'])
  })
})

describe('a result that is too large to hand over at once', () => {
  it('is answered whole to a repeated call in another process', async () => {
    const { run } = await fixture()
    const call = ['call', 'report', '--idempotency-key', 'k'] as const
    const first = (await run(...call, '--json')).json<CallAnswer>()
    expect(first.kept).toMatchObject({ resultId: first.operationId, totalBytes: 6_500, nextOffset: 1024 })
    const again = await run(...call)
    expect([again.code, again.stdout]).toEqual([0, 'a line of it\n'.repeat(500)])
  })
})
