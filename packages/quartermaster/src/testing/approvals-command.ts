import { runCli } from '../adapters/cli/index.ts'
import {
  AppError,
  type ApprovalFacts,
  type Control,
  type ControlInput,
  type OperationFacts,
} from '../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from './cli-host.ts'

/** All of it is one. */
export const TERMINAL = { stdin: true, stdout: true, stderr: true }

/** In milliseconds. */
export const HOUR = 3_600_000

/** A call that waits. The clock of the host begins at this time. */
export function waiting(id: string, more: Partial<ApprovalFacts> = {}): ApprovalFacts {
  const { host } = createFakeCliHost()
  const now = host.clock.now()
  return {
    id,
    agent: 'ada',
    tool: 'write_file',
    asks: [
      {
        operation: 'files.write',
        reason: 'Writes a file in a folder of yours.',
        weight: 'moderate',
        scope: 'a\u202eb.txt',
        grantable: 'any',
      },
      { operation: 'files.delete', reason: 'What was there is gone.', weight: 'high', scope: null, grantable: 'once' },
    ],
    createdAt: now - 2 * 60_000,
    expiresAt: now + 23 * HOUR,
    state: 'open',
    digest: 'd1',
    arguments: { path: 'a\u202eb.txt', password: 'hunter2', text: 'one \n\ttwo\u200b' },
    ...more,
  }
}

/** What may be allowed for longer than a call. */
export const LASTING: ApprovalFacts['asks'] = [
  { operation: 'files.write', reason: 'W.', weight: 'low', scope: null, grantable: 'any' },
]

/** How the operation of an answered call stands. */
export function factsOf(id: string, more: Partial<OperationFacts> = {}): OperationFacts {
  return {
    id,
    agent: 'ada',
    tool: 'write_file',
    mutates: true,
    state: 'queued',
    createdAt: 0,
    updatedAt: 0,
    digest: 'd1',
    definitionHash: 'h',
    attempts: 0,
    ...more,
  }
}

/** The host, and what waits. */
export interface RunOptions extends CliHostOptions {
  open?: ApprovalFacts[]
}

/** Runs `quartermaster approvals` over what waits; answers what it did. */
export async function runApprovals(argv: string[], { open = [waiting('op_1')], ...options }: RunOptions = {}) {
  const answers: ControlInput<'answerApproval'>[] = []
  const asked: ControlInput<'approvals'>[] = []
  const find = (id: string) => {
    const found = open.find(one => one.id === id)
    if (!found) throw new AppError('NAME_UNKNOWN', `There is no request for consent to "${id}".`)
    return found
  }
  const control: Partial<Control> = {
    approvals: async filter => {
      asked.push(filter)
      return open.map(({ id, agent, tool, asks, createdAt, expiresAt }) => ({
        id,
        agent,
        tool,
        asks,
        createdAt,
        expiresAt,
      }))
    },
    approval: async ({ id }) => find(id),
    answerApproval: async answer => {
      find(answer.id)
      answers.push(answer)
      return factsOf(answer.id, answer.decision === 'deny' ? { state: 'denied' } : {})
    },
    ...options.control,
  }
  const { host, seen } = createFakeCliHost({ env: { NO_COLOR: '1' }, from: 'up', ...options, control })
  return { code: await runCli(['approvals', ...argv], host), answers, asked, ...seen }
}
