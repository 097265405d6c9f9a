import { describe, expect, it } from 'vitest'
import type { Control, ControlInput, DocsAnswer } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(args: string[], control: Partial<Control> = {}) {
  const { host, seen } = createFakeCliHost({ control })
  const code = await runCli(args, host)
  return { code, ...seen }
}

/** Docs that answer in turn, and what they were asked. */
function docsWith(...answers: DocsAnswer[]) {
  const asked: ControlInput<'docs'>[] = []
  const docs: Control['docs'] = async input => {
    asked.push(input)
    return answers[asked.length - 1] ?? { depth: 'index', entries: [] }
  }
  return { asked, docs }
}

const PEOPLE = { path: 'people', kind: 'concept' as const, title: 'People\u001b[31m' }
const MAIL = {
  path: 'tool:send_mail',
  kind: 'tool' as const,
  title: 'Send mail',
  state: 'disabled' as const,
  reason: 'smtp is down',
}

describe('docs', () => {
  it('lists all there is, with the state of tools, and says how to go on', async () => {
    const { docs, asked } = docsWith({
      depth: 'index',
      entries: [PEOPLE, MAIL],
      total: 3,
      nextCursor: 'tool:send_mail',
    })
    const { code, stdout, stderr } = await run(['docs', '--scope', 'all', '--kind', 'tool', '--agent', 'ada'], { docs })
    expect(code).toBe(0)
    expect(stdout).toMatch(/people +concept +People/)
    expect(stdout).toMatch(/tool:send_mail +tool +disabled +Send mail\n +└ smtp is down/)
    expect(stdout).not.toContain('\u001b')
    expect(stderr).toContain('--cursor tool:send_mail')
    expect(asked).toEqual([{ scope: 'all', kind: 'tool', agent: 'ada', whole: true }])
  })

  it('shows what fits best for words', async () => {
    const found = { ...MAIL, summary: 'Sends a mail.', tags: ['post'], score: 0.4 }
    const { docs, asked } = docsWith({ depth: 'summary', entries: [found] })
    const { stdout } = await run(['docs', 'tell', 'somebody'], { docs })
    expect(asked).toEqual([{ query: 'tell somebody', whole: true }])
    expect(stdout).toBe('tool:send_mail (tool, disabled): Send mail\n  Sends a mail.\n  Tags: post\n  smtp is down\n')
  })

  it('opens what the words name, and reads to its end', async () => {
    const { docs, asked } = docsWith(
      { depth: 'summary', entries: [{ ...PEOPLE, score: 1 }] },
      { depth: 'full', entries: [PEOPLE], text: '# Peo', nextOffset: 5 },
      { depth: 'full', entries: [PEOPLE], text: 'ple\u001b[31m\n' },
    )
    const { stdout } = await run(['docs', 'people'], { docs })
    const whole = true
    expect(asked).toEqual([
      { query: 'people', whole },
      { path: 'people', whole },
      { path: 'people', offset: 5, whole },
    ])
    expect(stdout).toMatch(/^# People/)
    expect(stdout).not.toContain('\u001b')
  })

  it('answers a program with one page as it is', async () => {
    const answer = { depth: 'full' as const, entries: [PEOPLE], text: '# Peo', nextOffset: 5 }
    const { docs, asked } = docsWith(answer)
    const { stdout } = await run(['docs', '--path', 'people', '--offset', '3', '--limit', '2', '--json'], { docs })
    expect(JSON.parse(stdout)).toEqual(answer)
    expect(asked).toEqual([{ path: 'people', offset: 3, limit: 2 }])
  })

  it('opens for a program what it would open for a person', async () => {
    const page = { depth: 'full' as const, entries: [PEOPLE], text: '# People' }
    const { docs, asked } = docsWith({ depth: 'summary', entries: [{ ...PEOPLE, score: 1 }] }, page)
    const { stdout } = await run(['docs', 'people', '--json'], { docs })
    expect(JSON.parse(stdout)).toEqual(page)
    expect(asked).toEqual([{ query: 'people' }, { path: 'people' }])
  })

  it('goes on for a program in what the words name, and refuses where they name nothing', async () => {
    const page = { depth: 'full' as const, entries: [PEOPLE], text: 'ple' }
    const { docs, asked } = docsWith({ depth: 'summary', entries: [{ ...PEOPLE, score: 1 }] }, page)
    const { stdout } = await run(['docs', 'people', '--offset', '5', '--json'], { docs })
    expect(JSON.parse(stdout)).toEqual(page)
    expect(asked).toEqual([{ query: 'people' }, { path: 'people', offset: 5 }])
    const other = docsWith({ depth: 'summary', entries: [{ ...PEOPLE, score: 0.4 }] })
    expect(await run(['docs', 'pepole', '--offset', '5', '--json'], { docs: other.docs })).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('--offset goes on with a text'),
    })
  })

  it('says so where nothing fits', async () => {
    const { docs } = docsWith({ depth: 'summary', entries: [] })
    expect(await run(['docs', 'zebra'], { docs })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('Nothing fits'),
    })
  })

  it.each([
    ['words and a path', ['docs', 'a', '--path', 'b']],
    ['a cursor and words', ['docs', 'a', '--cursor', 'b']],
    ['a depth that is none', ['docs', '--depth', 'deep']],
    ['an offset that is none', ['docs', '--path', 'a', '--offset', 'x']],
  ])('refuses %s', async (_what, args) => {
    expect((await run(args)).code).toBe(2)
  })
})

describe('docs check', () => {
  it('says how to look for words that begin with its name', async () => {
    expect(await run(['docs', 'check', 'the', 'oil'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('quartermaster docs "check the oil"'),
    })
  })

  const problem = (severity: 'error' | 'warning') => ({
    severity,
    code: 'DEFINITION_INVALID' as const,
    where: 'knowledge/a.md:7',
    subject: 'unit:a',
    message: 'The link "b.md" leads to no file.',
  })

  it.each([
    ['nothing', [], [], 0, '2 units checked: no problems.\n'],
    ['a warning', [], [problem('warning')], 0, '0 errors, 1 warning.\n'],
    ['a warning, when strict', ['--strict'], [problem('warning')], 1, '0 errors, 1 warning.\n'],
    ['an error', [], [problem('error')], 1, '1 error, 0 warnings.\n'],
  ])('ends as it should with %s', async (_what, args, problems, code, text) => {
    const checkDocs: Control['checkDocs'] = async () => ({ units: 2, problems })
    const done = await run(['docs', 'check', ...args], { checkDocs })
    expect(done).toMatchObject({ code, stdout: expect.stringContaining(text) })
    const told = done.stdout.split('knowledge/a.md:7 · unit:a: The link "b.md" leads to no file.').length - 1
    expect(told).toBe(problems.length)
    const { stdout } = await run(['docs', 'check', ...args, '--json'], { checkDocs })
    expect(JSON.parse(stdout)).toEqual({ units: 2, problems })
  })
})
