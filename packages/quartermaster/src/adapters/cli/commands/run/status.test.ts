import { describe, expect, it } from 'vitest'
import {
  AppError,
  type Control,
  type DependencyStatus,
  type Finding,
  type Problem,
  type RecheckAnswer,
  type ReloadReport,
  type StatusReport,
} from '../../../../contracts/index.ts'
import { FORECAST_DOWN } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { fakeControl, STATUS_REPORT } from '../../../../testing/fake-control.ts'
import { type OpenedControl, runCli } from '../../index.ts'

async function run(argv: string[], control: Partial<Control>, from: OpenedControl['from'] = 'process') {
  const { host, seen } = createFakeCliHost()
  const openControl = async () => ({ control: fakeControl(control), from, close: async () => {} })
  return { code: await runCli(argv, { ...host, openControl }), ...seen }
}

const PROBLEM: Problem = {
  severity: 'error',
  code: 'DEFINITION_INVALID',
  where: 'capabilities/weather.ts',
  subject: 'tool:weather',
  field: 'input.properties.city',
  message: 'has no type.',
  fix: 'Say `type: "string"`.',
}

/** A problem as the bundler tells it: the message begins with the place. */
const PLACED: Problem = {
  severity: 'error',
  code: 'DEFINITION_INVALID',
  where: 'capabilities/weather.ts',
  message: 'capabilities/weather.ts:25:1: Expected identifier.',
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
        fix: 'Install git.',
      },
      {
        name: 'forecast',
        state: 'down',
        reason: 'connection refused',
        since: 1_700_000_000_000 - 5_000,
        dependsOn: [],
        fix: 'Start it.',
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
        '  └ Fix: Start it.',
        '',
        '1 problem',
        '✗ capabilities/weather.ts · tool:weather · input.properties.city: has no type.',
        '  Fix: Say `type: "string"`.',
        '',
      ].join('\n'),
    )
  })

  it('says where a problem is once, as exactly as is known', async () => {
    const { stdout } = await run(['status'], { status: async () => ({ ...STATUS_REPORT, problems: [PLACED] }) })
    expect(stdout).toContain('1 problem\n✗ capabilities/weather.ts:25:1: Expected identifier.\n')
  })

  it('calls a dependency switched off that is', async () => {
    const off: DependencyStatus = {
      name: 'mail',
      state: 'optedOut',
      reason: 'It is switched off.',
      since: 0,
      dependsOn: [],
    }
    const { stdout } = await run(['status'], { status: async () => ({ ...STATUS_REPORT, dependencies: [off] }) })
    expect(stdout).toMatch(/^mail\s+switched off/m)
  })

  it('names the upstreams that have not been listed yet, and in an agent’s prompt its capabilities', async () => {
    const unseen = [{ name: 'npx', reason: 'It was never started.', fix: 'Have it started: quartermaster up' }]
    const { stdout } = await run(['status'], { status: async () => ({ ...STATUS_REPORT, unseen }) })
    expect(stdout).toMatch(/^"npx" has not been seen yet: It was never started\. Have it started: quartermaster up$/m)
    const made = { agent: 'a', text: '# Tools', estimatedTokens: 2, tools: [] }
    const prompt = async () => ({ ...made, unseen: [{ capability: 'npx', reason: 'It has not been reached yet.' }] })
    expect((await run(['prompt', 'a'], { prompt })).stderr).toMatch(
      /\n"npx" is not in it: It has not been reached yet\.\n$/,
    )
  })

  it('says beside a prompt which tools of the agent are held back, and why', async () => {
    const withheld = Array.from({ length: 12 }, (_, i) => ({ tool: `notes_${i}`, capability: 'notes', reason: 'New.' }))
    const made = { agent: 'ada', text: '# Tools\n', estimatedTokens: 5, tools: [], withheld }
    const { stdout, stderr } = await run(['prompt', 'ada'], { prompt: async () => made })
    expect(stdout).toBe('# Tools\n')
    expect(stderr).toContain('\n"notes_0" is not in it: New.\n')
    expect(stderr).toContain('\nNor are 2 more; all of them: the same with --json\n')
    const few = { ...made, withheld: withheld.slice(0, 10) }
    expect((await run(['prompt', 'ada'], { prompt: async () => few })).stderr).not.toContain('Nor are')
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
  const error: Finding = { level: 'error', what: '"git" is not on the PATH.', fix: 'Install git.' }
  const doctor = (findings: Finding[], ...argv: string[]) => run(['doctor', ...argv], { doctor: async () => findings })

  it('prints findings with how to fix each, and ends with 1 when there is an error', async () => {
    const { code, stdout } = await doctor([fine, warning, error])
    expect(code).toBe(1)
    expect(stdout).toBe(
      [
        '✓ The configuration is right. (quartermaster.config.json)',
        '! No agent uses "weather".',
        '✗ "git" is not on the PATH.',
        '  Fix: Install git.',
        '1 error, 1 warning.',
        '',
      ].join('\n'),
    )
  })

  it('says where a problem is once, as exactly as is known', async () => {
    const { stdout } = await doctor([{ level: 'error', what: PLACED.message, where: PLACED.where }])
    expect(stdout).toBe('✗ capabilities/weather.ts:25:1: Expected identifier.\n1 error, 0 warnings.\n')
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

  it('ends with 1 when something was rejected, and says how to fix it', async () => {
    const { code, stdout } = await run(['reload'], { reload: async () => ({ ...report, rejected: [PROBLEM] }) })
    expect(code).toBe(1)
    expect(stdout).toContain('1 problem; the last good version stays\n✗ capabilities/weather.ts')
  })

  it('says of what was taken in with a warning no more than that', async () => {
    const warning = { ...PROBLEM, severity: 'warning' as const }
    const { code, stdout } = await run(['reload'], { reload: async () => ({ ...report, rejected: [warning] }) })
    expect(code).toBe(0)
    expect(stdout).toContain('\n1 warning\n! capabilities/weather.ts')
    expect(stdout).not.toContain('last good version stays\n')
  })

  it.each([
    { problem: PLACED, printed: '✗ capabilities/weather.ts:25:1: Expected identifier.' },
    {
      problem: { ...PLACED, subject: 'tool:weather' },
      printed: '✗ capabilities/weather.ts:25:1 · tool:weather: Expected identifier.',
    },
    {
      problem: { ...PLACED, message: 'capabilities/weather.ts: It cannot be read.' },
      printed: '✗ capabilities/weather.ts: It cannot be read.',
    },
    {
      problem: { ...PLACED, message: 'capabilities/weather.tsx: It is another file.' },
      printed: '✗ capabilities/weather.ts: capabilities/weather.tsx: It is another file.',
    },
  ])('says where a problem is once, as exactly as is known: $printed', async ({ problem, printed }) => {
    const { stdout } = await run(['reload'], { reload: async () => ({ ...report, rejected: [problem] }) })
    expect(stdout).toContain(`\n${printed}\n`)
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

  it('ends with 1 and says what is still missing, and when up looks again', async () => {
    const answer: RecheckAnswer = { active: false, missing: [{ ...FORECAST_DOWN, nextRecheckAt: 1 }], probed: [] }
    const { code, stdout } = await run(['recheck', 'weather'], { recheck: async () => answer }, 'up')
    expect(code).toBe(1)
    expect(stdout).toContain(
      '✗ weather is still missing something.\n  forecast has been down for 3 minutes: connection refused\n    Next recheck: now.',
    )
    expect(stdout).toContain('Probed  nothing: it was probed a moment ago')
  })

  it('mentions no wait where no up runs, because the next command checks again', async () => {
    const answer: RecheckAnswer = { active: false, missing: [FORECAST_DOWN], probed: ['forecast'] }
    const { stdout } = await run(['recheck', 'weather'], { recheck: async () => answer })
    expect(stdout).toBe(
      [
        '✗ weather is still missing something.',
        '  forecast has been down for 3 minutes: connection refused',
        '    Fix: Start it with `docker compose up forecast`.',
        'Probed  forecast',
        '',
      ].join('\n'),
    )
  })

  it('says of what is switched off how to switch it on, and that no recheck looks at it', async () => {
    const { nextRecheckAt: _never, ...off } = FORECAST_DOWN
    const answer: RecheckAnswer = { active: false, missing: [{ ...off, state: 'optedOut' }], probed: [] }
    const { stdout } = await run(['recheck', 'weather'], { recheck: async () => answer }, 'up')
    expect(stdout).toBe(
      [
        '✗ weather is still missing something.',
        '  forecast is switched off in the configuration',
        '    Fix: Switch it on in the configuration: dependencies.forecast.enabled.',
        'Probed  nothing: what is switched off is never probed',
        '',
      ].join('\n'),
    )
  })

  it.each([
    {
      message: '"mail" names a tool and a dependency. Say "tool:mail" or "dependency:mail".',
      next: 'Next: Say which: quartermaster recheck tool:mail, or: quartermaster recheck dependency:mail\n',
    },
    {
      message: '"mail" names a dependency and a capability. Say "dependency:mail" or "capability:mail".',
      next: 'Next: Say which: quartermaster recheck dependency:mail, or: quartermaster recheck capability:mail\n',
    },
  ])('offers for an ambiguous name only what there is: $message', async ({ message, next }) => {
    const { code, stderr } = await run(['recheck', 'mail'], {
      recheck: () => Promise.reject(new AppError('NAME_AMBIGUOUS', message)),
    })
    expect(code).toBe(3)
    expect(stderr).toContain(next)
  })
})

describe('an error that carries problems', () => {
  const problem: Problem = {
    severity: 'error',
    code: 'CONFIG_INVALID',
    where: 'quartermaster.config.json:3:5',
    field: 'settings.logLevel',
    message: 'must be one of debug, info.',
    fix: 'Write "info".',
  }
  const second: Problem = { ...problem, where: 'quartermaster.config.json:4:5', field: 'x', message: 'is no key.' }
  const status = (message: string, problems: Problem[]) =>
    run(['status'], {
      status: () => Promise.reject(new AppError('CONFIG_INVALID', message, { details: { problems } })),
    })

  it('tells each once, with how to fix it', async () => {
    const lines = [
      'The configuration has 2 problems:',
      '- quartermaster.config.json:3:5: settings.logLevel: must be one of debug, info. Write "info".',
      '- quartermaster.config.json:4:5: x: is no key. Write "info".',
    ]
    expect((await status(lines.join('\n'), [problem, second])).stderr).toBe(
      [
        'Error: The configuration has 2 problems:',
        '✗ quartermaster.config.json:3:5 · settings.logLevel: must be one of debug, info.',
        '  Fix: Write "info".',
        '✗ quartermaster.config.json:4:5 · x: is no key.',
        '  Fix: Write "info".',
        'Next: See everything that is wrong: quartermaster doctor',
        '(CONFIG_INVALID)',
        '',
      ].join('\n'),
    )
  })

  it('counts them where its message says nothing else', async () => {
    const { stderr } = await status(problem.message, [problem])
    expect(stderr).toContain('Error: 1 problem:\n✗ quartermaster.config.json:3:5 · settings.logLevel: must be one of')
  })
})
