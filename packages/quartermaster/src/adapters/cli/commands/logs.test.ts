import { describe, expect, it } from 'vitest'
import type { AuditLine, Control } from '../../../contracts/index.ts'
import { createFakeCliHost } from '../../../testing/cli-host.ts'
import { runCli } from '../index.ts'

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
        'TIME                      AGENT  TOOL  OUTCOME  TOOK  OPERATION  ERROR\n' +
        '2023-11-14T22:13:20.000Z  ada    look  not run  1 ms  op_1       TOOL_NOT_FOUND\n',
    })
    expect(JSON.parse((await run(['--json'])).stdout)).toEqual({ lines: [LINE] })
    expect(await run(['--agent', 'nobody'])).toMatchObject({ code: 0, stdout: '', stderr: 'Nothing was called.\n' })
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
