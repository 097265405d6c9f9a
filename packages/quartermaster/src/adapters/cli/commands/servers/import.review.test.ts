import { describe, expect, it } from 'vitest'
import type { ReviewItem } from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { runImport as run } from '../../../../testing/import-fixture.ts'

const item = (upstream: string, name: string, more: Partial<ReviewItem> = {}): ReviewItem => ({
  upstream,
  kind: 'tool',
  name,
  state: 'suspicious',
  hash: 'h',
  findings: [],
  changes: [],
  seenAt: 0,
  ...more,
})

describe('import of what servers that are there speak of', () => {
  it('counts what each has when all are there', async () => {
    const judged = { files: { tools: { offered: 2, held: 1 } } }
    const { stdout } = await run(['claude'], { present: [NOTES], reviews: [[], [item('files', 'order')]], judged })
    expect(stdout).toContain(
      '✓ files (Claude Desktop): it is up, with 2 tools, 1 held for review (quartermaster upstreams review files)\n',
    )
    // What is held of it is not told twice.
    expect(stdout).not.toContain('order')
  })

  it('names what is held or warned of from now on in those that were there before, and nothing else', async () => {
    const known = [item('notes', 'prior'), item('notes', 'doubtful', { state: 'warned' }), item('beside', 'x')]
    const after = [
      item('notes', 'prior'),
      item('notes', 'doubtful'),
      item('notes', 'evil'),
      item('notes', 'say', { kind: 'prompt', state: 'warned' }),
      item('beside', 'x'),
      item('unseen', 'first'),
      item('notes', 'next', { state: 'new' }),
    ]
    const present = [NOTES, { ...NOTES, name: 'beside' }, { ...NOTES, name: 'unseen', unseen: 'Start it.' }]
    const { code, stdout } = await run(['claude'], { present, reviews: [known, after] })
    expect(code).toBe(0)
    expect(stdout).toContain(
      '! notes, which was there before: held for review from now on: tool:doubtful, tool:evil; ' +
        'warned of from now on: prompt:say (quartermaster upstreams review notes)\n',
    )
    expect(stdout).not.toMatch(/prior|beside|unseen|next/)
  })

  it('names a few, and counts the rest', async () => {
    const after = Array.from({ length: 8 }, (_, at) => item('notes', `t${at}`))
    const { stdout } = await run(['claude'], { present: [NOTES], reviews: [[], after] })
    expect(stdout).toContain('tool:t0, tool:t1, tool:t2, tool:t3, tool:t4 and 3 more (quartermaster')
  })

  it('tells programs, and lets no server write lines of ours', async () => {
    const after = [item('notes', 'x\n✓ all is well')]
    const json = await run(['claude', '--json'], { present: [NOTES], reviews: [[], after] })
    expect(JSON.parse(json.stdout)).toMatchObject({
      judgedAgain: [{ upstream: 'notes', kind: 'tool', name: 'x\n✓ all is well', state: 'suspicious' }],
    })
    const { stdout } = await run(['claude'], { present: [NOTES], reviews: [[], after] })
    expect(stdout).not.toMatch(/^✓ all/m)
  })

  it('lists what was imported also where the outcome of the others is unknown', async () => {
    const { code, stdout } = await run(['claude', 'files'], { present: [NOTES] })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 imported, 0 skipped.') })
    const dry = await run(['claude', '--dry-run'], { present: [NOTES], reviews: [[], [item('notes', 'evil')]] })
    expect(dry.stdout).not.toContain('evil')
  })
})
