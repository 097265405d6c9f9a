import { describe, expect, it } from 'vitest'
import type { Control, TokenFacts } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const NOW = 1_700_000_000_000

const FACTS: TokenFacts = {
  id: 'tok_1',
  agent: 'worker',
  label: 'laptop',
  state: 'active',
  createdAt: NOW - 120_000,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
}

async function run(args: string[], control: Partial<Control> = {}) {
  const { host, seen } = createFakeCliHost({ control })
  const code = await runCli(['tokens', ...args], host)
  return { code, ...seen }
}

describe('tokens', () => {
  it('are shown once when they are made, alone on standard output', async () => {
    const asked: unknown[] = []
    const createToken: Control['createToken'] = async request => {
      asked.push(request)
      return { token: 'qm_secret', facts: FACTS }
    }
    const made = await run(['create', 'worker', '--label', 'laptop', '--for', '8h'], { createToken })
    expect(made).toMatchObject({ code: 0, stdout: 'qm_secret\n' })
    expect(made.stderr).toContain('quartermaster tokens revoke tok_1')
    expect(asked).toEqual([{ agent: 'worker', label: 'laptop', ttlMs: 28_800_000 }])
    expect(JSON.parse((await run(['create', 'worker', '--json'], { createToken })).stdout)).toMatchObject({
      token: 'qm_secret',
      id: 'tok_1',
    })
  })

  it('are made for persons too, and say so', async () => {
    const { agent: _, ...rest } = FACTS
    const asked: unknown[] = []
    const control: Partial<Control> = {
      createToken: async request => (asked.push(request), { token: 'qm_secret', facts: { ...rest, person: 'eve' } }),
      tokens: async () => [{ ...rest, person: 'eve' }],
      revokeToken: async () => ({ ...rest, person: 'eve', state: 'revoked' }),
    }
    expect((await run(['create', '--person', 'eve'], control)).stderr).toContain('of the person "eve"')
    expect(asked).toEqual([{ person: 'eve' }])
    expect((await run([], control)).stdout).toMatch(/^tok_1 +eve \(person\) +active /m)
    expect((await run(['revoke', 'tok_1'], control)).stdout).toContain('of the person "eve" is revoked')
  })

  it.each([[[]], [['worker', '--person', 'eve']]])('cannot be guessed: create %j', async argv => {
    expect(await run(['create', ...argv])).toMatchObject({ code: 2, opened: [] })
  })

  it('are listed without their texts', async () => {
    const tokens: Control['tokens'] = async () => [FACTS, { ...FACTS, id: 'tok_2', state: 'revoked', label: null }]
    const { stdout } = await run([], { tokens })
    expect(stdout).toBe(
      'ID     HOLDER  STATE    MADE           LABEL\ntok_1  worker  active   2 minutes ago  laptop\ntok_2  worker  revoked  2 minutes ago\n',
    )
    const none = await run([], { tokens: async () => [] })
    expect([none.stdout, none.stderr]).toEqual(['', 'No tokens yet. Make one: quartermaster tokens create AGENT\n'])
  })

  it('say that their agent does not exist, as long as they would let it in', async () => {
    const gone = { ...FACTS, agentMissing: true }
    const tokens: Control['tokens'] = async () => [
      gone,
      { ...gone, expiresAt: NOW + 60_000 },
      { ...gone, state: 'expired' },
    ]
    const { stdout } = await run([], { tokens })
    const states = stdout
      .split('\n')
      .slice(1, -1)
      .map(line => /worker +(.*?)  /.exec(line)?.[1])
    expect(states).toEqual(['active, no such agent', 'active for 1 minute, no such agent', 'expired'])
  })

  it('are taken back and rotated by their id', async () => {
    const revoked = await run(['revoke', 'tok_1'], {
      revokeToken: async ({ id }) => ({ ...FACTS, id, state: 'revoked' }),
    })
    expect(revoked).toMatchObject({ code: 0, stdout: '✓ Token tok_1 of "worker" is revoked.\n' })
    const asked: unknown[] = []
    const rotateToken: Control['rotateToken'] = async request => {
      asked.push(request)
      return { token: 'qm_next', facts: FACTS }
    }
    await run(['rotate', 'tok_1'], { rotateToken })
    await run(['rotate', 'tok_1', '--overlap', '10m'], { rotateToken })
    expect(asked).toEqual([
      { id: 'tok_1', overlapMs: 3_600_000 },
      { id: 'tok_1', overlapMs: 600_000 },
    ])
  })

  it('refuse a time that is none, and a mistyped subcommand', async () => {
    expect((await run(['create', 'worker', '--for', 'long'])).code).toBe(2)
    expect((await run(['create', 'worker', '--for', '367d'])).stderr).toContain('at most 366d')
    const { code, stderr } = await run(['creat', 'worker'])
    expect(code).toBe(2)
    expect(stderr).toContain('Did you mean "create"?')
  })
})
