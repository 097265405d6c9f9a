import { describe, expect, it } from 'vitest'
import type { ReviewItem } from '../../../../contracts/index.ts'
import { CHANGED, ODD, PROMPT, runUpstreams, WARNED } from '../../../../testing/upstreams-command.ts'

const REFUSED: ReviewItem = { ...PROMPT, kind: 'tool', name: 'drop', state: 'rejected' }
const { hash: HASH } = CHANGED
const READ = { kind: 'tool', name: 'read', hash: HASH }
const BOTH_READS = [READ, { ...READ, kind: 'prompt' }]

describe('a decision', () => {
  it('is about what is named, in the version that was shown', async () => {
    const { code, decided, stdout } = await runUpstreams(['accept', 'notes', 'tool:read', '--yes'])
    expect({ code, decided }).toEqual({
      code: 0,
      decided: [{ upstream: 'notes', decision: 'accept', items: [READ] }],
    })
    expect(stdout).toContain('  ✗ It tells the model what to do. (instruction in description)\n')
    expect(stdout).toContain('    - Reads.\n')
    expect(stdout).toMatch(/\n✓ tool:read@3f9ac02b41d7e865 of notes is accepted\.\n$/)
    expect(stdout).not.toMatch(/(?![\n ])[\p{C}\p{Z}]/u)
  })

  it('asks for the kind where two share a name', async () => {
    const { code, decided, stderr } = await runUpstreams(['accept', 'notes', 'read', '--yes'])
    expect({ code, decided }).toEqual({ code: 3, decided: [] })
    expect(stderr).toContain('"tool:read@3f9ac02b41d7e865" and "prompt:read@3f9ac02b41d7e865". Say which.')
    expect(stderr).toContain('quartermaster upstreams review notes')
  })

  it.each(['tool:read@3f9ac02b', `tool:read@${HASH}`, 'tool:read@3F9AC02B41'])('takes a version: %s', async item => {
    expect((await runUpstreams(['reject', 'notes', item])).decided).toEqual([
      { upstream: 'notes', decision: 'reject', items: [READ] },
    ])
  })

  it('is refused for another version than the one that is named', async () => {
    const { code, decided, stderr } = await runUpstreams(['accept', 'notes', 'tool:read@00000000', '--yes'])
    expect({ code, decided }).toEqual({ code: 10, decided: [] })
    expect(stderr).toContain('See what waits: quartermaster upstreams review notes')
    expect(await runUpstreams(['accept', 'notes', 'tool:read@3f9ac02', '--yes'])).toMatchObject({
      code: 4,
      decided: [],
      stderr: expect.stringContaining('at least 8 characters'),
    })
  })

  it('needs a person’s answer, a version that was seen, or the flag that skips the question', async () => {
    for (const words of [['tool:read'], ['--all'], ['tool:read', `prompt:read`]]) {
      const { code, decided, stderr } = await runUpstreams(['accept', 'notes', ...words])
      expect({ code, decided }).toEqual({ code: 2, decided: [] })
      expect(stderr).toContain('Look at it with "quartermaster upstreams review notes", then name what you have seen')
    }
    expect((await runUpstreams(['accept', 'notes', `tool:read@${READ.hash.slice(0, 8)}`])).decided).toHaveLength(1)
    // Refusing an unlisted definition does no harm.
    expect((await runUpstreams(['reject', 'notes', '--all'])).decided).toHaveLength(1)
  })

  it('is never about a tool that was named like a version or a kind of another', async () => {
    const items = ['read@3f9ac02b41d7e865', 'prompt:read'].map((name): ReviewItem => ({ ...ODD, name }))
    for (const word of ['read@3f9ac02b41d7e865', 'prompt:read'])
      expect(await runUpstreams(['accept', 'notes', word, '--yes'], { items })).toMatchObject({ code: 4, decided: [] })
    const named = await runUpstreams(['accept', 'notes', 'tool:prompt:read', '--yes'], { items })
    expect(named.decided[0]?.items).toEqual([{ ...READ, name: 'prompt:read' }])
  })

  it('takes the address of a resource for what it is', async () => {
    const items: ReviewItem[] = [{ ...ODD, kind: 'resource', name: 'resource://me@here' }]
    expect(
      (await runUpstreams(['accept', 'notes', 'resource://me@here', '--yes'], { items })).decided[0]?.items,
    ).toEqual([{ kind: 'resource', name: 'resource://me@here', hash: HASH }])
  })

  it('takes a name as it was shown', async () => {
    const { decided } = await runUpstreams(['reject', 'notes', 'wri\\u{200b}te'])
    expect(decided).toEqual([
      { upstream: 'notes', decision: 'reject', items: [{ kind: 'tool', name: 'wri\u200bte', hash: HASH }] },
    ])
  })

  it('takes back what is offered where that is named, and nothing of it otherwise', async () => {
    const OFFERED: ReviewItem = { ...ODD, name: 'fetch', state: 'offered' }
    const items = [CHANGED, OFFERED]
    expect((await runUpstreams(['reject', 'notes', 'fetch'], { items })).decided[0]?.items).toEqual([
      { kind: 'tool', name: 'fetch', hash: HASH },
    ])
    expect((await runUpstreams(['reject', 'notes', '--all'], { items })).decided[0]?.items).toEqual([READ])
    const unknown = await runUpstreams(['reject', 'notes', 'nothing-like-it'], { items })
    expect(unknown).toMatchObject({ code: 4, stderr: expect.stringContaining('There wait: tool:read.') })
  })

  it('says of no decision that it waits', async () => {
    const { code, stderr } = await runUpstreams(['reject', 'notes', 'nothing-like-it'], { items: [REFUSED, WARNED] })
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining('waits. Nothing else does.') })
    expect(stderr).not.toContain('There wait')
  })

  it('is about everything that waits only when that is said, and not about what was refused before', async () => {
    const items = [CHANGED, PROMPT, REFUSED, WARNED]
    expect((await runUpstreams(['accept', 'notes', '--all', '--yes'], { items })).decided).toEqual([
      { upstream: 'notes', decision: 'accept', items: BOTH_READS },
    ])
    expect(await runUpstreams(['accept', 'notes', '--all', '--yes'], { items: [REFUSED] })).toMatchObject({
      code: 0,
      decided: [],
      stdout: 'Nothing of "notes" waits.\n',
    })
    expect(await runUpstreams(['accept', 'notes'])).toMatchObject({ code: 2, decided: [] })
    expect(await runUpstreams(['reject', 'notes', 'read', '--all'])).toMatchObject({ code: 2, decided: [] })
  })

  it('is not about what does not wait', async () => {
    expect(await runUpstreams(['accept', 'notes', 'red', '--yes'])).toMatchObject({ code: 4, decided: [] })
  })

  it('is JSON for a program, with the whole of what was decided on and nothing hidden', async () => {
    const { stdout } = await runUpstreams(['accept', 'notes', 'tool:read', '--json', '--yes'])
    expect(JSON.parse(stdout)).toEqual([{ ...CHANGED, definition: '{"a":"\u200b"}' }])
    expect(stdout).not.toMatch(/(?![\n ])[\p{C}\p{Z}]/u)
  })
})

describe('a decision at a terminal', () => {
  it('shows what it is about and asks', async () => {
    const { code, questions, stderr, stdout, decided } = await runUpstreams(['accept', 'notes', 'tool:read'], {
      answers: ['y'],
    })
    expect({ code, questions }).toEqual({ code: 0, questions: ['Accept this? [y/N] '] })
    expect(stderr).toContain('notes tool:read@3f9ac02b41d7e865')
    expect(stderr).toContain('(instruction in description)')
    expect(stdout).toBe('✓ tool:read@3f9ac02b41d7e865 of notes is accepted.\n')
    expect(decided[0]?.items).toEqual([READ])
  })

  it('does nothing without a yes', async () => {
    const items = [CHANGED, PROMPT]
    expect(await runUpstreams(['reject', 'notes', '--all'], { items, answers: [''] })).toMatchObject({
      code: 1,
      decided: [],
      questions: ['Reject these 2? [y/N] '],
      stderr: expect.stringMatching(/Nothing was rejected\.\n$/),
    })
    expect(await runUpstreams(['accept', 'notes', '--all', '--json'], { items, answers: ['n'] })).toMatchObject({
      code: 1,
      decided: [],
      stdout: '[]\n',
    })
  })

  it('does not ask with --yes, and tells what was accepted', async () => {
    const { questions, stdout, decided } = await runUpstreams(['accept', 'notes', 'tool:read', '--yes'], {
      answers: [],
    })
    expect({ questions, items: decided[0]?.items }).toEqual({ questions: [], items: [READ] })
    expect(stdout).toContain('    - Reads.\n')
  })
})
