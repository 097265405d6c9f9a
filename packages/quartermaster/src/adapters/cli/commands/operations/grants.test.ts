import { describe, expect, it } from 'vitest'
import type { Control, ControlInput, GrantFacts } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const GRANT: GrantFacts = {
  id: 'grant_1',
  agent: 'ada',
  operation: 'files.write',
  scope: 'a\u200b.txt',
  decision: 'allow',
  lasting: 'time',
  grantedBy: 'owner',
  via: 'owner',
  createdAt: 0,
  expiresAt: 0,
}

async function run(argv: string[], { count = 1, ...options }: CliHostOptions & { count?: number } = {}) {
  const filters: unknown[] = []
  const revoked: ControlInput<'revokeGrants'>[] = []
  const { host, seen } = createFakeCliHost({ env: { NO_COLOR: '1' }, ...options })
  const expiresAt = host.clock.now() + 600_000
  const control: Partial<Control> = {
    grants: async filter => {
      filters.push(filter)
      const { scope: _, ...all } = GRANT
      const once = { ...GRANT, id: 'grant_3', lasting: 'once', tool: 'write_file', via: 'client' } as const
      const no = { ...all, id: 'grant_2', decision: 'deny', lasting: 'always' } as const
      return [GRANT, no, once, { ...no, id: 'grant_4', isUnnamed: true as const }].map(grant => ({
        ...grant,
        expiresAt,
      }))
    },
    revokeGrants: async filter => {
      revoked.push(filter)
      return { count }
    },
    ...options.control,
  }
  const openControl = async () => ({ control: control as Control, from: 'up' as const, close: async () => {} })
  return { code: await runCli(['grants', ...argv], { ...host, openControl }), filters, revoked, ...seen }
}

describe('grants list', () => {
  it('shows who may do what, with which resource, how long, and by whose word', async () => {
    const { code, stdout, filters } = await run(['list', '--agent', 'ada', '--operation', 'files.write'])
    expect(code).toBe(0)
    expect(filters).toEqual([{ agent: 'ada', operation: 'files.write' }])
    expect(stdout).toMatch(/^grant_1 +ada +allow +files\.write +"a\\u200b\.txt" +a time +owner +in 10 minutes$/m)
    expect(stdout).toMatch(/^grant_2 +ada +deny +files\.write +everything +always +owner +in 10 minutes$/m)
    expect(stdout).toMatch(/^grant_3 +.*write_file, "a\\u200b\.txt" +one call +owner \(client\) +in 10 minutes$/m)
    expect(stdout).toMatch(/^grant_4 +ada +deny +files\.write +what names no resource +always +owner +in 10 minutes$/m)
  })

  it('is for programs too, and says when there are none', async () => {
    expect(JSON.parse((await run(['list', '--json'])).stdout)).toHaveLength(4)
    const none = await run(['list'], { control: { grants: async () => [] } })
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'There are none.\n' })
  })
})

describe('grants revoke', () => {
  it.each([
    { argv: ['grant_1'], filter: { id: 'grant_1' } },
    { argv: ['--agent', 'ada'], filter: { agent: 'ada' } },
    { argv: ['--operation', 'files.write'], filter: { operation: 'files.write' } },
    { argv: ['--by', 'eve'], filter: { by: 'eve' } },
    { argv: ['--agent', 'ada', '--operation', 'x.y'], filter: { agent: 'ada', operation: 'x.y' } },
  ])('takes back $argv', async ({ argv, filter }) => {
    const { code, revoked, stdout } = await run(['revoke', ...argv], { count: 2 })
    expect({ code, revoked, stdout }).toEqual({ code: 0, revoked: [filter], stdout: '✓ 2 grants taken back.\n' })
  })

  it('ends with 1 when there was none', async () => {
    const { code, stderr } = await run(['revoke', 'grant_9'], { count: 0 })
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'There is no such valid grant.\n' })
    const json = await run(['revoke', 'grant_9', '--json'], { count: 0 })
    expect([json.code, JSON.parse(json.stdout)]).toEqual([1, { count: 0 }])
  })

  it.each([[[]], [['grant_1', '--agent', 'ada']]])('does not guess what is meant by %j', async argv => {
    const { code, revoked } = await run(['revoke', ...argv])
    expect({ code, revoked }).toEqual({ code: 2, revoked: [] })
  })
})
