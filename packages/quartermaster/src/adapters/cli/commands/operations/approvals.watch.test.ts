import { describe, expect, it } from 'vitest'
import { AppError, type Control } from '../../../../contracts/index.ts'
import { type RunOptions, runApprovals, waiting } from '../../../../testing/approvals-command.ts'

describe('approvals --watch', () => {
  const at = { at: 1, id: 'op_1', tool: 'write_file', agent: 'ada' }

  async function watched(argv: string[], more: RunOptions = {}) {
    const asks = waiting('op_1').asks
    const open = [waiting('op_1')]
    const events: Control['events'] = async (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      onEvent?.({ ...at, name: 'approval.opened', id: 'op_2' })
      onEvent?.({ ...at, name: 'approval.answered', state: 'denied', by: { name: 'eve\u202e', via: 'person' } })
      onEvent?.({ ...at, name: 'approval.closed', id: 'op_2', agent: 'bob' })
      onEvent?.({ ...at, name: 'operation.changed', to: 'queued' })
      return {}
    }
    return { asks, ...(await runApprovals(argv, { open, control: { events }, ...more })) }
  }

  it('shows what waits and what is asked, each once, and what is answered, as it comes', async () => {
    const { code, stdout, stderr } = await watched(['--watch'])
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: [
        'asks  write_file of ada (high): files.write for "a\\u202eb.txt", files.delete (op_1)',
        'denied  write_file of ada, by eve\\u{202e} (op_1)',
        'over  write_file of bob; not answered (op_2)',
        '',
      ].join('\n'),
      stderr: 'The "up" has ended.\n',
    })
  })

  it('shows what is asked again after it was answered', async () => {
    const events: Control['events'] = async (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      onEvent?.({ ...at, name: 'approval.answered', state: 'allowed', by: { name: 'eve', via: 'person' } })
      onEvent?.({ ...at, name: 'approval.opened' })
      return {}
    }
    const { stdout } = await watched(['--watch'], { control: { events } })
    expect(stdout.split('\n').map(line => line.slice(0, 7).trim())).toEqual(['asks  w', 'allowed', 'asks  w', ''])
  })

  it('tells a program line by line, without any arguments, and of one agent where that is said', async () => {
    const { stdout, asks } = await watched(['list', '--watch', '--agent', 'ada', '--json'])
    const lines = stdout.trim().split('\n')
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { name: 'approval.opened', id: 'op_1', asks },
      { name: 'approval.answered', id: 'op_1', state: 'denied' },
    ])
    expect(stdout).not.toContain('hunter2')
  })

  it('needs an up, and fails when what waits cannot be had', async () => {
    expect(await watched(['--watch'], { from: 'process' })).toMatchObject({ code: 2 })
    const events: Control['events'] = (_, { onEvent } = {}) => {
      onEvent?.({ name: 'events.started', at: 0 })
      return new Promise(() => {})
    }
    const approvals = () => Promise.reject(new AppError('STORE_UNAVAILABLE', 'The disk is gone.'))
    const { code, stderr } = await watched(['--watch'], { control: { events, approvals } })
    expect(code).not.toBe(0)
    expect(stderr).toContain('The disk is gone.')
  })
})
