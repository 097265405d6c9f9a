import { describe, expect, it } from 'vitest'
import type { AuditLine, Control, UpstreamLogLine } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { whileAdvancing } from '../../../../testing/fake-clock.ts'
import { runCli } from '../../index.ts'

const NOW = 1_700_000_000_000

const LINE: AuditLine = {
  id: 'audit_1',
  workspace: 'ada',
  callerKind: 'agent',
  callerName: 'ada',
  at: NOW,
  operationId: 'op_1',
  tool: 'look',
  digest: '',
  decision: 'refused',
  outcome: 'notRun',
  code: 'TOOL_NOT_FOUND',
  consent: null,
  mutates: false,
  durationMs: 1.4,
}

async function run(args: string[]) {
  const asked: unknown[] = []
  const audit: Control['audit'] = async filter => {
    asked.push(filter)
    return filter.agent === 'nobody' ? { lines: [] } : { lines: [LINE] }
  }
  const { host, seen } = createFakeCliHost({ control: { audit } })
  const code = await runCli(['logs', ...args], host)
  return { code, asked, ...seen }
}

describe('logs', () => {
  it('are the audit: who called what, and how it ended', async () => {
    expect(await run([])).toMatchObject({
      code: 0,
      stdout:
        'TIME                      AGENT  TOOL  OUTCOME  TOOK  OPERATION  NOTE\n' +
        '2023-11-14T22:13:20.000Z  ada    look  not run  1 ms  op_1       TOOL_NOT_FOUND\n',
    })
    expect(JSON.parse((await run(['--json'])).stdout)).toEqual({ lines: [LINE] })
    expect(await run(['--agent', 'nobody'])).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing was called.\n' })
  })

  it('say whose word a line is about', async () => {
    const consent = { operations: ['files.write'], by: 'person eve' }
    const lines = [
      { ...LINE, code: 'GRANT_REVOKED', consent },
      { ...LINE, code: null, consent },
    ]
    const { host, seen } = createFakeCliHost({ control: { audit: async () => ({ lines }) } })
    expect(await runCli(['logs'], host)).toBe(0)
    expect(seen.stdout).toContain('GRANT_REVOKED: files.write by person eve\n')
    expect(seen.stdout).toContain('op_1       files.write by person eve\n')
  })

  it.each([
    [['--since', '2h'], { since: NOW - 7_200_000 }],
    [['--since', '2023-11-14'], { since: Date.parse('2023-11-14') }],
    [
      ['--since', '2023-11-14T10:00:00Z', '--tool', 'look'],
      { since: Date.parse('2023-11-14T10:00:00Z'), tool: 'look' },
    ],
    [['--agent', 'ada', '--limit', '5', '--cursor', '1.a'], { agent: 'ada', limit: 5, cursor: '1.a' }],
  ])('can be narrowed: %j', async (args, filter) => {
    expect((await run(args)).asked).toEqual([{ limit: 50, ...filter }])
  })

  it.each(['yesterday', '2023-99-99', '7'])('take no time that is none: %s', async since => {
    expect(await run(['--since', since])).toMatchObject({ code: 2, asked: [] })
  })
})

describe('logs of an upstream', () => {
  const line = (at: number, text: string): UpstreamLogLine => ({ at: NOW + at, from: 'stderr', text })

  async function follow(argv: string[], looks: UpstreamLogLine[][]) {
    const asked: unknown[] = []
    const upstreamLogs: Control['upstreamLogs'] = async input => {
      asked.push(input)
      if (looks.length === 1) fixture.interrupt()
      return (looks.length > 1 ? looks.shift() : looks[0]) ?? []
    }
    const fixture = createFakeCliHost({ control: { upstreamLogs } })
    const code = await whileAdvancing(fixture.clock, runCli(['logs', ...argv], fixture.host))
    return { code, asked, ...fixture.seen }
  }

  async function show(argv: string[], lines: UpstreamLogLine[]) {
    const asked: unknown[] = []
    const upstreamLogs: Control['upstreamLogs'] = async input => (asked.push(input), lines)
    const { host, seen } = createFakeCliHost({ control: { upstreamLogs } })
    return { code: await runCli(['logs', ...argv], host), asked, ...seen }
  }

  it('are its last lines, with nothing a terminal could act on', async () => {
    expect(await show(['notes', '--lines', '2'], [line(0, 'one'), line(1, '\u001b[2Jtwo')])).toMatchObject({
      code: 0,
      asked: [{ name: 'notes', limit: 2 }],
      stdout: '2023-11-14T22:13:20.000Z stderr  one\n2023-11-14T22:13:20.001Z stderr  \\x1b[2Jtwo\n',
    })
    expect(await show(['notes'], [])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('lines are kept while'),
    })
    expect(JSON.parse((await show(['notes', '--json'], [line(0, 'one')])).stdout)).toEqual([line(0, 'one')])
  })

  it('go on with what is said, each line once, until Ctrl-C', async () => {
    const [a, b, c, d] = [line(0, 'a'), line(0, 'b'), line(0, 'c'), line(1, 'd')]
    const { code, stdout } = await follow(
      ['notes', '--follow', '--json'],
      [
        [a, b],
        [a, b],
        [a, b, c, d],
        [b, c, d],
        [c, d],
      ],
    )
    const said = stdout
      .trim()
      .split('\n')
      .map(text => JSON.parse(text).text)
    expect({ code, said }).toEqual({ code: 0, said: ['a', 'b', 'c', 'd'] })
  })

  it.each([
    ['--follow'],
    ['--lines', '5'],
    ['notes', '--since', '2h'],
    ['notes', '--limit', '5'],
    ['notes', '--lines', '0'],
  ])('have options of their own: %s %s', async (...argv) => {
    expect((await show(argv, [])).code).toBe(2)
  })
})
