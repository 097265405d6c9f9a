import { describe, expect, it } from 'vitest'
import { AppError, type Control, type ControlOptions } from '../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../testing/cli-host.ts'
import { deferred } from '../../testing/deferred.ts'
import { runCli } from './index.ts'

const CLEAR = '\r\u001b[2K'
const DONE = { operationId: 'op1', result: { content: [{ type: 'text' as const, text: 'done' }] } }

/** A command whose `Control` operation goes on until the test ends it. */
function waiting(operation: 'call' | 'reload' | 'recheck' | 'doctor', argv: string[], options: CliHostOptions = {}) {
  const begun = deferred<ControlOptions>()
  const end = deferred<unknown>()
  const run = (_input: unknown, on: ControlOptions = {}) => {
    begun.resolve(on)
    return end.promise
  }
  const control = { [operation]: run } as Partial<Control>
  const { host, clock, seen, interrupt } = createFakeCliHost({ ...options, env: { NO_COLOR: '1' }, control })
  return { code: runCli([operation, ...argv], host), begun: begun.promise, end: end.resolve, clock, seen, interrupt }
}

describe('waiting', () => {
  it.each([
    { operation: 'call', argv: ['slow'], label: 'Calling slow', answer: DONE },
    {
      operation: 'recheck',
      argv: ['mail'],
      label: 'Rechecking mail',
      answer: { active: true, missing: [], probed: [] },
    },
    {
      operation: 'reload',
      argv: [],
      label: 'Reloading',
      answer: { generation: 1, added: [], changed: [], removed: [], rejected: [], durationMs: 1 },
    },
    { operation: 'doctor', argv: [], label: 'Looking at everything', answer: [] },
  ] as const)(
    'tells on a terminal how long $operation takes after a second, and clears that',
    async ({ operation, argv, label, answer }) => {
      const { code, begun, end, clock, seen } = waiting(operation, [...argv], { terminal: { stderr: true } })
      await begun
      await clock.advance(999)
      expect(seen.stderr).toBe('')
      await clock.advance(1_001)
      expect(seen.stderr).toBe(`${CLEAR}${label} · 1 s${CLEAR}${label} · 2 s`)
      end(answer)
      expect(await code).toBe(0)
      expect(seen.stderr.endsWith(`2 s${CLEAR}`)).toBe(true)
      expect(seen.stdout).not.toContain(CLEAR)
    },
  )

  it('says nothing of a quick command', async () => {
    const { code, begun, end, seen } = waiting('call', ['quick'], { terminal: { stderr: true } })
    await begun
    end(DONE)
    await code
    expect(seen.stderr).toBe('')
  })

  it('shows how far a tool has come, cut to the terminal', async () => {
    const { code, begun, end, clock, seen } = waiting('call', ['slow'], { terminal: { stderr: true }, columns: 40 })
    const { onProgress } = await begun
    onProgress?.({ progress: 1, total: 4, message: 'early' })
    await clock.advance(1_000)
    expect(seen.stderr).toBe(`${CLEAR}Calling slow · 1/4 early · 1 s`)
    onProgress?.({ progress: 2, message: `\u001b[2J${'long '.repeat(20)}` })
    expect(seen.stderr.split(CLEAR).at(-1)).toBe('Calling slow · 2 \\x1b[2Jlong lon… · 1 s')
    end(DONE)
    await code
  })

  it('writes what a tool reports as lines where there is no terminal, at most one a second, and again while it says nothing', async () => {
    const { code, begun, end, clock, seen } = waiting('call', ['slow'])
    const { onProgress } = await begun
    onProgress?.({ progress: 1, total: 4, message: 'one' })
    onProgress?.({ progress: 2, total: 4, message: 'two' })
    await clock.advance(5_000)
    onProgress?.({ progress: 3, total: 4 })
    await clock.advance(60_000)
    end(DONE)
    await code
    await clock.advance(60_000)
    expect(seen.stderr).toBe(
      'Calling slow · 1/4 one\nCalling slow · 3/4\nCalling slow · 3/4 · 35 s\nCalling slow · 3/4 · 65 s\n',
    )
    expect(seen.stdout).toBe('done')
  })

  it('lets no tool write lines of ours there', async () => {
    const { code, begun, end, seen } = waiting('call', ['slow'])
    const { onProgress } = await begun
    onProgress?.({ progress: 1, message: 'one\u001b[2J\nForged.' })
    end(DONE)
    await code
    expect(seen.stderr).toBe('Calling slow · 1 one\\x1b[2J Forged.\n')
  })

  it('writes no such lines beside --json', async () => {
    const { code, begun, end, seen } = waiting('call', ['slow', '--json'])
    const { onProgress } = await begun
    onProgress?.({ progress: 1 })
    end(DONE)
    await code
    expect(seen.stderr).toBe('')
  })
})

describe('Ctrl-C', () => {
  it('aborts the running call, closes what was opened and ends with 130', async () => {
    const { code, begun, seen, interrupt } = waiting('call', ['slow'])
    const { signal } = await begun
    interrupt()
    expect(await code).toBe(130)
    expect(signal?.aborted).toBe(true)
    expect(seen).toMatchObject({ stdout: '', stderr: 'Cancelled.\n', closed: 1 })
  })

  it('is printed for a program as the one JSON value', async () => {
    const { code, begun, seen, interrupt } = waiting('call', ['slow', '--json'])
    await begun
    interrupt()
    expect(await code).toBe(130)
    expect(JSON.parse(seen.stdout)).toEqual({
      error: { code: 'CANCELLED', kind: 'cancelled', retry: 'later', message: 'Cancelled.' },
    })
  })

  it('names the servers that the command was waiting for', async () => {
    for (const argv of [['slow'], ['slow', '--json']]) {
      const { code, begun, seen, interrupt } = waiting('call', argv)
      const { onAwaiting } = await begun
      onAwaiting?.(['a', 'b'])
      onAwaiting?.(['b'])
      interrupt()
      expect(await code).toBe(130)
      expect(seen.stdout + seen.stderr).toMatch(/Cancelled while waiting for the first start of \\?"b\\?"\. /)
    }
  })

  /** A command that is still starting when it is interrupted. */
  function starting() {
    const opening = deferred<Awaited<ReturnType<typeof host.openControl>>>()
    const { host, seen, clock, interrupt } = createFakeCliHost({ host: { openControl: () => opening.promise } })
    const code = runCli(['status'], host)
    interrupt()
    const open = (close: () => Promise<void>) => opening.resolve({ control: {} as Control, from: 'process', close })
    return { code, open, seen, clock }
  }

  it('ends a command that is still starting only when what it opens is closed again', async () => {
    const { code, open, seen, clock } = starting()
    let isOver = false
    void code.then(() => (isOver = true))
    const closing = deferred()
    open(() => closing.promise)
    await clock.breathe()
    expect(isOver).toBe(false)
    closing.resolve()
    expect(await code).toBe(130)
    expect(seen.stderr).toBe('Cancelled.\n')
  })

  it('does not wait for what does not open, and closes what opens too late', async () => {
    const { code, open, clock } = starting()
    await clock.advance(2_000)
    expect(await code).toBe(130)
    const closed = deferred()
    open(async () => closed.resolve())
    await closed.promise
  })

  it('is not held up by something that does not close', async () => {
    const { host, clock, interrupt } = createFakeCliHost({
      host: {
        openControl: async () => ({
          control: { status: () => new Promise(() => {}) } as unknown as Control,
          from: 'up',
          close: () => new Promise(() => {}),
        }),
      },
    })
    const code = runCli(['status'], host)
    await clock.breathe()
    interrupt()
    await clock.advance(10_000)
    expect(await code).toBe(130)
  })

  it('at the question runs nothing', async () => {
    const operations = [{ name: 'files.write', reason: 'Writes.', weight: 'low' }]
    const call = () =>
      Promise.reject(new AppError('CONSENT_REQUIRED', 'No.', { details: { tool: 'w', digest: 'd', operations } }))
    const { host, interrupt } = createFakeCliHost({ control: { call }, terminal: { stdin: true, stderr: true } })
    const asked = deferred()
    const question = () => {
      asked.resolve()
      return new Promise<string>(() => {})
    }
    const code = runCli(['call', 'w'], { ...host, io: { ...host.io, stdin: { ...host.io.stdin, question } } })
    await asked.promise
    interrupt()
    expect(await code).toBe(130)
  })
})

describe('a pipe closed by its reader', () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })

  it('ends the command quietly', async () => {
    const { host, seen } = createFakeCliHost({ control: { agents: async () => [] } })
    const stdout = { isTTY: false, write: () => Promise.reject(gone) }
    expect(await runCli(['agents', '--json'], { ...host, io: { ...host.io, stdout } })).toBe(0)
    expect(await runCli(['--help'], { ...host, io: { ...host.io, stdout } })).toBe(0)
    expect(await runCli(['nope', '--json'], { ...host, io: { ...host.io, stdout } })).toBe(0)
    expect(seen).toMatchObject({ stderr: '', closed: 1 })
  })

  it('is no reason to fail where notices go', async () => {
    const { host, seen } = createFakeCliHost({ control: { call: async () => DONE } })
    const stderr = {
      isTTY: false,
      write: () => {
        throw gone
      },
    }
    expect(await runCli(['call', 'x'], { ...host, io: { ...host.io, stderr } })).toBe(0)
    expect(seen.stdout).toBe('done')
    expect(await runCli(['nope'], { ...host, io: { ...host.io, stderr } })).toBe(2)
  })

  it('is told apart from a tool whose own pipe broke', async () => {
    const { host, seen } = createFakeCliHost({ control: { call: () => Promise.reject(gone) } })
    expect(await runCli(['call', 'x'], host)).toBe(70)
    expect(seen.stderr).toContain('write EPIPE')
  })
})
