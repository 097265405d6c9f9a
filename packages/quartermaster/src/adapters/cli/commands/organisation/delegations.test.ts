import { expect, it } from 'vitest'
import { AppError, type Control, type DelegationDetail } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const NOW = 1_700_000_000_000

const TASK: DelegationDetail = {
  id: 'task_1',
  state: 'completed',
  from: { id: 'ws_1', name: 'ada' },
  to: { id: 'ws_2', name: 'bob', presence: 'online', lastSeenAt: NOW },
  conversationId: 'conv_1',
  parentId: null,
  hops: 1,
  progress: null,
  error: null,
  createdAt: NOW,
  updatedAt: NOW,
  startedAt: NOW,
  endedAt: NOW,
  deadlineAt: NOW,
  task: 'Count the boxes.\n\u001b[31mended on never',
  attachments: [],
  result: { text: 'Seven.', offset: 0, nextOffset: 100_000, characters: 200_000, parts: [], attachments: [] },
}

async function run(args: string[], control: Partial<Control> = {}) {
  const { host, seen } = createFakeCliHost({ control })
  const code = await runCli(['delegations', ...args], host)
  return { code, ...seen }
}

it('lists tasks, and says how to go on', async () => {
  const asked: unknown[] = []
  const delegations: Control['delegations'] = async input => {
    asked.push(input)
    return { delegations: [{ ...TASK, progress: { text: 'half\nway', at: NOW } }], nextCursor: 'task_1' }
  }
  const args = ['list', '--workspace', 'bob', '--role', 'peer', '--state', 'completed']
  const { code, stdout, stderr } = await run(args, { delegations })
  expect(code).toBe(0)
  expect(stdout).toMatch(/task_1 +completed +ada +bob +.* ago +half/)
  expect(stderr).toContain('--cursor task_1')
  expect(asked).toEqual([{ workspace: 'bob', role: 'peer', state: 'completed', limit: 20 }])
  const json = await run(['list', '--json'], { delegations })
  expect(JSON.parse(json.stdout)).toMatchObject({ delegations: [{ id: 'task_1' }], nextCursor: 'task_1' })
  const none = await run(['list'], { delegations: async () => ({ delegations: [], nextCursor: null }) })
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'There are no such tasks.\n' })
})

it.each([
  ['list', '--limit', '201'],
  ['list', '--state', 'done'],
  ['show', 'task_1', '--offset', '-1'],
])('refuses %s %s %s', async (...args) => {
  expect((await run(args)).code).toBe(2)
})

it('quotes every line of a task that another agent wrote', async () => {
  const asked: unknown[] = []
  const delegation: Control['delegation'] = async input => {
    asked.push(input)
    return TASK
  }
  const { stdout, stderr } = await run(['show', 'task_1', '--offset', '5'], { delegation })
  expect(stdout).toContain('task_1 (completed)\ngiven by ada to bob on 2023-11-14T22:13:20.000Z\n')
  expect(stdout).toContain('| Count the boxes.\n| ')
  expect(stdout).toContain('what bob said:\n| Seven.\n')
  expect(stdout).not.toContain('\u001b')
  expect(stderr).toContain('--offset 100000')
  expect(asked).toEqual([{ id: 'task_1', offset: 5 }])
})

it('cancels a task, and says why one that is over cannot be', async () => {
  const cancelDelegation: Control['cancelDelegation'] = async ({ id }) => {
    if (id === 'task_1') return { ...TASK, state: 'cancelled' }
    throw new AppError('DELEGATION_ENDED', 'The task "task_2" was completed before; nothing was changed.')
  }
  expect(await run(['cancel', 'task_1'], { cancelDelegation })).toMatchObject({ code: 0 })
  const late = await run(['cancel', 'task_2'], { cancelDelegation })
  expect(late.code).not.toBe(0)
  expect(late.stderr).toContain('was completed before')
})
