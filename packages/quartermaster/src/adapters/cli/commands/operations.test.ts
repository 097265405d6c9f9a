import { describe, expect, it } from 'vitest'
import type { Control, OperationFacts } from '../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../testing/cli-host.ts'
import { runCli } from '../index.ts'

const NOW = 1_700_000_000_000

const FACTS: OperationFacts = {
  id: 'op_1',
  agent: 'ada',
  tool: 'send_mail',
  mutates: true,
  state: 'unknown',
  outcome: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  createdAt: NOW - 120_000,
  updatedAt: NOW,
  endedAt: NOW,
  digest: 'ab'.repeat(32),
  definitionHash: 'd1',
  attempts: 1,
  error: { code: 'OUTCOME_UNKNOWN', kind: 'unavailable', retry: 'verifyFirst', message: 'Look first.' },
  keepUntil: NOW + 1_000,
}

async function run(args: string[], control: Partial<Control> = {}, terminal: CliHostOptions['terminal'] = {}) {
  const { host, seen } = createFakeCliHost({ control, terminal })
  const code = await runCli(['operations', ...args], host)
  return { code, ...seen }
}

describe('operations', () => {
  it('are listed, newest first, with the way to more', async () => {
    const asked: unknown[] = []
    const operations: Control['operations'] = async filter => {
      asked.push(filter)
      return { operations: [FACTS], nextCursor: '12.op_1' }
    }
    const listed = await run(['list', '--agent', 'ada', '--state', 'unknown', '--limit', '1'], { operations })
    expect(listed).toMatchObject({
      code: 0,
      stdout:
        'ID    AGENT  TOOL       STATE    BEGUN          ERROR\nop_1  ada    send_mail  unknown  2 minutes ago  OUTCOME_UNKNOWN\n',
      stderr: 'More: the same with --cursor 12.op_1\n',
    })
    expect(asked).toEqual([{ agent: 'ada', state: 'unknown', limit: 1 }])
    const json = await run(['list', '--cursor', '12.op_1', '--json'], { operations })
    expect(JSON.parse(json.stdout)).toMatchObject({ operations: [{ id: 'op_1' }], nextCursor: '12.op_1' })
    expect(asked[1]).toEqual({ limit: 50, cursor: '12.op_1' })
  })

  it('say so when there are none', async () => {
    const none = await run(['list'], { operations: async () => ({ operations: [] }) })
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'There are none.\n' })
  })

  it('are shown whole by their id', async () => {
    const running: OperationFacts = { ...FACTS, progress: 'half', arguments: { to: '•••', text: '•••' } }
    const shown = await run(['show', 'op_1'], { operation: async () => running })
    expect(shown.stdout).toContain('Error           OUTCOME_UNKNOWN: Look first.\n')
    expect(shown.stdout).toContain('Arguments       to=••• text=•••\n')
    expect(shown.stdout).toContain('Begun           2023-11-14T22:11:20.000Z\n')
    const json = await run(['show', 'op_1', '--json'], { operation: async () => FACTS })
    expect(JSON.parse(json.stdout)).toEqual(FACTS)
  })

  it('are shown with a long result cut on a terminal, and whole elsewhere', async () => {
    const text = '🙂'.repeat(65_536)
    const operation: Control['operation'] = async () => ({ ...FACTS, result: { content: [{ type: 'text', text }] } })
    const onTerminal = await run(['show', 'op_1'], { operation }, { stdout: true })
    expect(onTerminal.stdout.length).toBeLessThan(5_000)
    expect(onTerminal.stdout).toContain('Kept until')
    expect(onTerminal.stdout).toMatch(/🙂…\n$/)
    expect(onTerminal.stderr).toMatch(/cut at 4 kB of 262 kB.*operations show op_1 --json/)
    const piped = await run(['show', 'op_1'], { operation })
    expect([piped.stdout.includes(text), piped.stderr]).toEqual([true, ''])
    const json = await run(['show', 'op_1', '--json'], { operation }, { stdout: true })
    expect(JSON.parse(json.stdout)).toMatchObject({ result: { content: [{ text }] } })
  })

  it('take no state and no number that is none', async () => {
    expect(await run(['list', '--state', 'lost'])).toMatchObject({ code: 2 })
    expect(await run(['list', '--limit', '0'])).toMatchObject({ code: 2 })
    expect(await run(['list', '--limit', '1001'])).toMatchObject({ code: 2 })
  })
})
