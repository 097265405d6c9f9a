import { describe, expect, it } from 'vitest'
import type { Control, JoinCodeFacts, WorkspaceFacts } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const NOW = 1_700_000_000_000

const ROOT: WorkspaceFacts = {
  id: 'ws_1',
  organisation: 'default',
  name: 'root',
  role: '',
  description: null,
  tier: 0,
  parent: null,
  abilities: ['memory.global'],
  status: 'active',
  origin: 'root',
  presence: 'offline',
  delivery: 'poll',
  capacity: null,
  createdAt: NOW,
  registeredAt: null,
  lastSeenAt: null,
}
const ADA: WorkspaceFacts = {
  ...ROOT,
  id: 'ws_2',
  name: 'ada',
  role: 'Leads.\u001b[31m',
  tier: 1,
  parent: { id: 'ws_1', name: 'root' },
  abilities: [],
  origin: 'joined',
  presence: 'online',
  capacity: 2,
  lastSeenAt: NOW - 60_000,
}
const CODE: JoinCodeFacts = {
  id: 'join_1',
  organisation: 'default',
  parent: { id: 'ws_1', name: 'root' },
  name: null,
  role: '',
  abilities: [],
  state: 'open',
  createdAt: NOW,
  expiresAt: NOW + 3_600_000,
  usedAt: null,
  usedBy: null,
  revokedAt: null,
}

async function run(args: string[], control: Partial<Control> = {}) {
  const { host, seen } = createFakeCliHost({ control })
  const code = await runCli(args, host)
  return { code, ...seen }
}

describe('workspaces', () => {
  it('are listed as a tree, with who is there', async () => {
    const workspaces: Control['workspaces'] = async () => [ROOT, ADA, { ...ADA, name: 'bob', status: 'archived' }]
    const { code, stdout } = await run(['workspaces', 'list'], { workspaces })
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^WORKSPACE/),
      expect.stringMatching(/^root.*offline.*ws_1$/),
      expect.stringMatching(/^ {2}ada.*online.*ws_2.*Leads\.\\x1b\[31m$/),
      expect.stringMatching(/^ {2}bob.*archived/),
      '',
    ])
    expect(JSON.parse((await run(['workspaces', 'list', '--json'], { workspaces })).stdout)).toHaveLength(3)
  })

  it('are shown, made, archived and brought back', async () => {
    const asked: unknown[] = []
    const note = async (input: unknown) => (asked.push(input), ADA)
    const control: Partial<Control> = {
      workspace: note,
      createWorkspace: note,
      archiveWorkspace: note,
      restoreWorkspace: note,
    }
    const shown = await run(['workspaces', 'show', 'ada'], control)
    expect(shown.stdout).toMatch(/^Below +root$/m)
    expect(shown.stdout).toMatch(/^Last seen +1 minute ago$/m)
    const create = ['workspaces', 'create', 'ada', '--parent', 'root', '--role', 'Leads.', '--ability', 'broadcast']
    expect((await run([...create, '--ability', 'memory.global'], control)).stdout).toContain('"ada" is made: ws_2')
    expect((await run(['workspaces', 'archive', 'ada', '--organisation', 'acme'], control)).code).toBe(0)
    expect((await run(['workspaces', 'restore', 'ada'], control)).stdout).toContain('"ada" is active again')
    expect(JSON.parse((await run(['workspaces', 'restore', 'ada', '--json'], control)).stdout)).toEqual(ADA)
    expect(asked).toEqual([
      { id: 'ada' },
      { name: 'ada', parent: 'root', role: 'Leads.', abilities: ['broadcast', 'memory.global'] },
      { id: 'ada', organisation: 'acme' },
      { id: 'ada' },
      { id: 'ada' },
    ])
    const wrong = await run(['workspaces', 'create', 'ada', '--ability', 'brodcast'], control)
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean "broadcast"?') })
  })
})

describe('organisations', () => {
  const ACME = { name: 'acme', title: 'Acme\u001b[31m', createdAt: NOW - 60_000 }

  it('are listed and made', async () => {
    const asked: unknown[] = []
    const control: Partial<Control> = {
      organisations: async () => [ACME],
      createOrganisation: async input => (asked.push(input), ACME),
    }
    expect((await run(['organisations', 'list'], control)).stdout).toMatch(/^acme +1 minute ago +Acme\\x1b\[31m$/m)
    expect(JSON.parse((await run(['organisations', 'list', '--json'], control)).stdout)).toEqual([ACME])
    const made = await run(['organisations', 'create', 'acme', '--title', 'Acme'], control)
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('workspaces list --organisation acme') })
    expect(JSON.parse((await run(['organisations', 'create', 'acme', '--json'], control)).stdout)).toEqual(ACME)
    expect(asked).toEqual([{ name: 'acme', title: 'Acme' }, { name: 'acme' }])
  })
})

describe('join codes', () => {
  it('are shown once when they are made, alone on standard output', async () => {
    const asked: unknown[] = []
    const createJoinCode: Control['createJoinCode'] = async input => (
      asked.push(input), { code: 'qmjoin_secret', facts: CODE }
    )
    const made = await run(['join-codes', 'create', '--name', 'ada', '--for', '1h'], { createJoinCode })
    expect(made).toMatchObject({ code: 0, stdout: 'qmjoin_secret\n' })
    expect(made.stderr).toContain('quartermaster join-codes revoke join_1')
    expect(asked).toEqual([{ name: 'ada', ttlMs: 3_600_000 }])
    const json = JSON.parse((await run(['join-codes', 'create', '--json'], { createJoinCode })).stdout)
    expect(json).toMatchObject({ code: 'qmjoin_secret', id: 'join_1' })
  })

  it('are listed and taken back, and one that was used stays used', async () => {
    const used: JoinCodeFacts = { ...CODE, id: 'join_2', state: 'used', usedBy: 'ws_2' }
    const control: Partial<Control> = {
      joinCodes: async () => [CODE, used],
      revokeJoinCode: async ({ id }) => (id === 'join_2' ? used : { ...CODE, state: 'revoked' }),
    }
    const { stdout } = await run(['join-codes', 'list'], control)
    expect(stdout).toMatch(/^join_1 +open for 1 hour +root$/m)
    expect(stdout).toMatch(/^join_2 +used by ws_2 +root$/m)
    expect((await run(['join-codes', 'revoke', 'join_1'], control)).code).toBe(0)
    expect(await run(['join-codes', 'revoke', 'join_2'], control)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is used already'),
    })
  })
})

describe('persons', () => {
  it('are listed and removed', async () => {
    const eve = { id: 'person_1', organisation: 'default', name: 'eve', title: null, createdAt: NOW - 60_000 }
    const control: Partial<Control> = { persons: async () => [eve], removePerson: async () => eve }
    expect((await run(['persons', 'list'], control)).stdout).toMatch(/^eve +1 minute ago$/m)
    const removed = await run(['persons', 'remove', 'eve'], control)
    expect(removed).toMatchObject({ code: 0, stderr: expect.stringContaining('grants revoke --by eve') })
    expect((await run(['persons', 'list'], { persons: async () => [] })).stderr).toContain('tokens create --person')
  })
})
