import { describe, expect, it } from 'vitest'
import {
  AppError,
  type Control,
  type Finding,
  type Problem,
  type RecheckAnswer,
  type ReloadReport,
  type StatusReport,
} from '../../../contracts/index.ts'
import { FORECAST_DOWN } from '../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../testing/cli-host.ts'
import { STATUS_REPORT } from '../../../testing/fake-control.ts'
import { runCli } from '../index.ts'

async function run(argv: string[], control: Partial<Control>) {
  const { host, seen } = createFakeCliHost({ control })
  return { code: await runCli(argv, host), ...seen }
}

const PROBLEM: Problem = {
  severity: 'error',
  code: 'DEFINITION_INVALID',
  where: 'capabilities/weather.ts',
  subject: 'tool:weather',
  field: 'input.properties.city',
  message: 'has no type.',
  mend: 'Say `type: "string"`.',
}

describe('status', () => {
  const status: StatusReport = {
    ...STATUS_REPORT,
    startedAt: 1_700_000_000_000 - 7_200_000,
    dependencies: [
      {
        name: 'git',
        state: 'up',
        reason: 'version 2.45',
        since: 1_700_000_000_000 - 60_000,
        dependsOn: [],
        mend: 'Install git.',
      },
      {
        name: 'forecast',
        state: 'down',
        reason: 'connection refused',
        since: 1_700_000_000_000 - 5_000,
        dependsOn: [],
        mend: 'Start it.',
      },
    ],
    problems: [PROBLEM],
  }

  it('gives a short overview', async () => {
    const { code, stdout } = await run(['status'], { status: async () => status })
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'Version     1.2.3',
        'Server      running for 2 hours',
        'Generation  7',
        'Tools       2 active, 1 disabled (why: quartermaster tools --state disabled)',
        'Agents      1',
        '',
        'DEPENDENCY  STATE  FOR        REASON',
        'git         up     1 minute   version 2.45',
        'forecast    down   5 seconds  connection refused',
        '  └ Mend: Start it.',
        '',
        '1 problem',
        '✗ capabilities/weather.ts · tool:weather · input.properties.city: has no type.',
        '  Mend: Say `type: "string"`.',
        '',
      ].join('\n'),
    )
  })

  it('says how to start a server and make an agent when there is none', async () => {
    const { stdout } = await run(['status'], { status: async () => ({ ...STATUS_REPORT, from: 'process', agents: 0 }) })
    expect(stdout).toContain('start it: quartermaster up')
    expect(stdout).toContain('make one: quartermaster grant NAME files --create')
  })

  it('prints the report as JSON', async () => {
    expect(JSON.parse((await run(['status', '--json'], { status: async () => status })).stdout)).toEqual(status)
  })
})

describe('doctor', () => {
  const fine: Finding = { level: 'ok', what: 'The configuration is right.', where: 'quartermaster.config.json' }
  const warning: Finding = { level: 'warning', what: 'No agent uses "weather".' }
  const error: Finding = { level: 'error', what: '"git" is not on the PATH.', mend: 'Install git.' }
  const doctor = (findings: Finding[], ...argv: string[]) => run(['doctor', ...argv], { doctor: async () => findings })

  it('prints findings with how to mend each, and ends with 1 when there is an error', async () => {
    const { code, stdout } = await doctor([fine, warning, error])
    expect(code).toBe(1)
    expect(stdout).toBe(
      [
        '✓ The configuration is right. (quartermaster.config.json)',
        '! No agent uses "weather".',
        '✗ "git" is not on the PATH.',
        '  Mend: Install git.',
        '1 error, 1 warning.',
        '',
      ].join('\n'),
    )
  })

  it('ends with 0 when there are only warnings', async () => {
    expect((await doctor([fine, warning])).code).toBe(0)
  })

  it('says that all is well', async () => {
    expect((await doctor([fine])).stdout).toContain('All is well.')
  })

  it('prints findings as JSON, with the same exit code', async () => {
    const { code, stdout } = await doctor([error], '--json')
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual([error])
  })
})

describe('reload', () => {
  const report: ReloadReport = {
    generation: 3,
    added: ['tool:a', 'tool:b'],
    changed: [],
    removed: ['tool:c'],
    rejected: [],
    durationMs: 12.4,
  }

  it('tells what changed', async () => {
    const { code, stdout } = await run(['reload'], { reload: async () => report })
    expect(code).toBe(0)
    expect(stdout).toBe('Generation 3 (12 ms)\nAdded    tool:a, tool:b\nRemoved  tool:c\n')
  })

  it('says when nothing did', async () => {
    const { stdout } = await run(['reload'], { reload: async () => ({ ...report, added: [], removed: [] }) })
    expect(stdout).toBe('Generation 3, nothing changed (12 ms)\n')
  })

  it('ends with 1 when something was rejected, and says how to mend it', async () => {
    const { code, stdout } = await run(['reload'], { reload: async () => ({ ...report, rejected: [PROBLEM] }) })
    expect(code).toBe(1)
    expect(stdout).toContain('1 problem; the last good version stays\n✗ capabilities/weather.ts')
  })
})

describe('recheck', () => {
  it('says that everything is there', async () => {
    const asked: unknown[] = []
    const recheck: Control['recheck'] = async input => {
      asked.push(input)
      return { active: true, missing: [], probed: ['forecast'] }
    }
    const { code, stdout } = await run(['recheck', 'tool:weather', '--force'], { recheck })
    expect(asked).toEqual([{ name: 'tool:weather', force: true }])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '✓ tool:weather has everything it needs.\nProbed  forecast\n' })
  })

  it('ends with 1 and says what is still missing', async () => {
    const answer: RecheckAnswer = { active: false, missing: [{ ...FORECAST_DOWN, nextRecheckAt: 1 }], probed: [] }
    const { code, stdout } = await run(['recheck', 'weather'], { recheck: async () => answer })
    expect(code).toBe(1)
    expect(stdout).toContain(
      '✗ weather is still missing something.\n  forecast has been down for 3 minutes: connection refused\n    Next recheck: now.',
    )
    expect(stdout).toContain('Probed  nothing')
  })

  it('says how to name an ambiguous thing', async () => {
    const { code, stderr } = await run(['recheck', 'mail'], {
      recheck: () => Promise.reject(new AppError('NAME_AMBIGUOUS', '"mail" is two things.')),
    })
    expect(code).toBe(3)
    expect(stderr).toContain('Say which: quartermaster recheck tool:mail, dependency:mail or capability:mail')
  })
})
