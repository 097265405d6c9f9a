import { describe, expect, it } from 'vitest'
import { type AgentCheck, AppError, type Control } from '../../../../contracts/index.ts'
import { CHECK, NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(argv: string[], control: Partial<Control>) {
  const { host, seen } = createFakeCliHost({ control })
  return { code: await runCli(['agents', ...argv], host), ...seen }
}

const BROKEN: AgentCheck = {
  ...CHECK,
  ok: false,
  report: [],
  problems: [
    {
      severity: 'error',
      code: 'AGENT_INVALID',
      where: 'agents/researcher.json',
      field: 'capabilities.flies',
      message: 'No capability is named "flies".',
      fix: 'Write "files".',
    },
  ],
}

describe('agents', () => {
  it('names the servers whose tools are not listed yet', async () => {
    const unseen = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
    const starting = { ...NOTES, state: 'starting' as const, reason: 'It has not answered yet.', unseen }
    const agent = { name: 'default', capabilities: ['notes'], granted: 0, unavailable: 0, problems: [] }
    const { stderr } = await run([], { agents: async () => [agent], upstreams: async () => [starting] })
    expect(stderr).toBe(`"notes" has not been seen yet: It has not answered yet. ${unseen}\n`)
  })

  it('lists agents with what they have and what is wrong', async () => {
    const { code, stdout } = await run([], {
      agents: async () => [
        { name: 'default', capabilities: ['files'], view: 'direct', granted: 4, unavailable: 0, problems: [] },
        { name: 'many', capabilities: ['world'], view: 'gateway', granted: 98, unavailable: 2, problems: [] },
        {
          name: 'researcher',
          title: 'Finds things',
          capabilities: [],
          granted: 0,
          unavailable: 2,
          problems: ['Its file is not JSON.'],
        },
      ],
    })
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        'NAME        TOOLS                             CAPABILITIES  TITLE',
        'default     4                                 files',
        'many        98 (2 unavailable, gateway view)  world',
        'researcher  0 (2 unavailable)                 -             Finds things',
        '  └ Its file is not JSON.',
        '',
      ].join('\n'),
    )
  })

  it('says how to make the first one', async () => {
    const { code, stdout, stderr } = await run([], { agents: async () => [] })
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe('No agents yet. Make one: quartermaster grant NAME files --create\n')
  })

  it('explains what an agent gets and why not the rest, and ends with 0 when its file is right', async () => {
    const { code, stdout } = await run(['check', 'researcher'], { checkAgent: async () => CHECK })
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        '✓ researcher (agents/researcher.json): 1 granted, 1 unavailable, 1 skipped',
        'TOOL       STATE        CAPABILITY  REASON',
        'read_file  granted      files',
        'weather    unavailable  weather     forecast is down',
        'say        skipped      chat        no thread outside a run',
        '',
      ].join('\n'),
    )
  })

  it('says when an agent sees its tools through the gateway view', async () => {
    const { stdout } = await run(['check', 'researcher'], { checkAgent: async () => ({ ...CHECK, view: 'gateway' }) })
    expect(stdout).toContain('1 granted, 1 unavailable, 1 skipped, through the gateway view\n')
  })

  it('ends with 1 when the file has problems, and says how to fix each', async () => {
    const { code, stdout } = await run(['check', 'researcher'], { checkAgent: async () => BROKEN })
    expect(code).toBe(1)
    expect(stdout).toBe(
      [
        '✗ researcher (agents/researcher.json): 0 granted, 1 problem',
        '✗ agents/researcher.json · capabilities.flies: No capability is named "flies".',
        '  Fix: Write "files".',
        '',
      ].join('\n'),
    )
  })

  it('says what to do about an agent that has nothing', async () => {
    const { stderr } = await run(['check', 'researcher'], { checkAgent: async () => ({ ...CHECK, report: [] }) })
    expect(stderr).toBe('It has no capabilities. Give it one: quartermaster grant researcher CAPABILITY\n')
  })

  it('prints the check as JSON, with the same exit code', async () => {
    const { code, stdout } = await run(['check', 'researcher', '--json'], { checkAgent: async () => BROKEN })
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toEqual(BROKEN)
  })

  it('says how to make an agent that does not exist', async () => {
    const { code, stderr } = await run(['check', 'bob'], {
      checkAgent: () => Promise.reject(new AppError('AGENT_NOT_FOUND', 'No agent is named "bob".')),
    })
    expect(code).toBe(4)
    expect(stderr).toContain(
      'Next: See all agents: quartermaster agents, or make it: quartermaster grant bob CAPABILITY --create',
    )
  })
})
