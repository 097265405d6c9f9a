import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { AppError, type Events, type OperationState, type Problem } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { deferred } from '../../../../testing/deferred.ts'
import { STATUS_REPORT } from '../../../../testing/fake-control.ts'
import { runCli, type UpEvent, type UpOptions, type UpStarted } from '../../index.ts'

/** A server that runs until it is told to stop. */
function running(options: CliHostOptions & { started?: Partial<UpStarted> } = {}) {
  const asked = deferred<UpOptions>()
  const { host, seen, interrupt, clock } = createFakeCliHost({
    ...options,
    host: {
      up: async upOptions => {
        asked.resolve(upOptions)
        const closed = new Promise<void>(resolve => upOptions.signal.addEventListener('abort', () => resolve()))
        return {
          url: `http://127.0.0.1:${upOptions.port || 40_001}`,
          status: STATUS_REPORT,
          closed,
          ...options.started,
        }
      },
      ...options.host,
    },
  })
  return { asked: asked.promise, seen, interrupt, clock, run: (...argv: string[]) => runCli(['up', ...argv], host) }
}

/** Starts, lets it be announced, and presses Ctrl-C. */
async function upAndDown(argv: string[], options: Parameters<typeof running>[0] = {}) {
  const { asked, clock, interrupt, run, seen } = running(options)
  const ended = run(...argv)
  const { onEvent: _onEvent, signal: _signal, ...rest } = await asked
  await clock.breathe()
  interrupt()
  return { code: await ended, asked: rest, ...seen }
}

describe('up', () => {
  it('says what runs, where, what works and how to stop it, and ends with 0 on Ctrl-C', async () => {
    const { code, asked, stdout, stderr } = await upAndDown([])
    expect(asked).toEqual({ host: '127.0.0.1', port: 7420, json: false })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      [
        'Quartermaster 1.2.3',
        'Listening  http://127.0.0.1:7420',
        'Tools      2 active, 1 disabled (why: quartermaster tools --state disabled)',
        'Agents     1',
        'Ctrl-C stops it.',
        '',
      ].join('\n'),
    )
  })

  it('prints problems with how to fix each, and what the host adds', async () => {
    const problem = {
      severity: 'error',
      code: 'CONFIG_INVALID',
      where: 'quartermaster.config.json',
      message: 'No such variable.',
      fix: 'Set it.',
    } as const
    const { stdout } = await upAndDown([], {
      started: { status: { ...STATUS_REPORT, problems: [problem] }, notes: ['Connect with: x'] },
    })
    expect(stdout).toContain(
      'Connect with: x\n1 problem\n✗ quartermaster.config.json: No such variable.\n  Fix: Set it.\n',
    )
  })

  it('prints one object with the url as the first line of --json, and nothing else', async () => {
    const { asked, clock, interrupt, run, seen } = running({
      started: { facts: { token: 't' } },
      terminal: { stdout: true },
    })
    const ended = run('--json', '--port', '0', '--data', 'd', '--config', 'c.json')
    const { onEvent, ...options } = await asked
    expect(options).toMatchObject({ port: 0, data: 'd', config: 'c.json' })
    await clock.breathe()
    onEvent({ name: 'agents.reloaded', event: { names: ['a'] } })
    interrupt()
    expect(await ended).toBe(0)
    expect(seen).toMatchObject({
      stdout: '{"url":"http://127.0.0.1:40001","version":"1.2.3","token":"t"}\n',
      stderr: '',
    })
  })

  it('tells the person who watches what happens, after where it listens', async () => {
    const { asked, clock, interrupt, run, seen } = running()
    const ended = run()
    const { onEvent } = await asked
    onEvent({ name: 'dependency.changed', event: { name: 'mail', from: 'up', to: 'down', reason: 'no\u001banswer' } })
    await clock.breathe()
    onEvent({ name: 'tools.disabled', event: { tools: ['send'], dependency: 'mail', reason: 'no answer' } })
    onEvent({ name: 'tools.restored', event: { tools: ['send'], dependency: 'mail' } })
    onEvent({ name: 'generation.swapped', event: { generation: 2, added: ['tool:a'], changed: [], removed: [] } })
    const caller = { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' } as const
    const audit = { at: 0, operationId: 'op_1', caller, tool: 'send', digest: '', mutates: true, durationMs: 3.2 }
    onEvent({
      name: 'call.settled',
      event: { ...audit, decision: 'refused', outcome: 'notRun', code: 'TOOL_DISABLED' },
    })
    onEvent({ name: 'notice', event: { level: 'warning', text: 'careful' } })
    // The second read when the file watch begins announces nothing.
    onEvent({ name: 'agents.reloaded', event: { names: ['worker'], isSame: true } })
    interrupt()
    await ended
    expect(seen.stderr.split('\n').map(line => line.replace(/^\d\d:\d\d:\d\d /, ''))).toEqual([
      'mail is down: no\\x1banswer',
      'disabled: send (mail: no answer)',
      'active again: send (mail is back)',
      'generation 2: added tool:a',
      'worker called send: not run, TOOL_DISABLED (3 ms)',
      'warning: careful',
      '',
    ])
  })

  describe('for a watching client', () => {
    /** The lines that events make, without their times. */
    async function linesOf(events: UpEvent[], { early = false, started = {} as Partial<UpStarted> } = {}) {
      const { asked, clock, interrupt, run, seen } = running({ started })
      const ended = run()
      const { onEvent } = await asked
      if (early) events.forEach(onEvent)
      await clock.breathe()
      if (!early) events.forEach(onEvent)
      interrupt()
      await ended
      return seen.stderr
        .trimEnd()
        .split('\n')
        .map(line => line.replace(/^\d\d:\d\d:\d\d /, ''))
    }
    const swapped = (changes: Partial<Events['generation.swapped']>): UpEvent => ({
      name: 'generation.swapped',
      event: { generation: 2, added: [], changed: [], removed: [], ...changes },
    })
    const many = (kind: string, amount: number) => Array.from({ length: amount }, (_, i) => `${kind}:n${i}`)
    const problem: Problem = {
      severity: 'error',
      code: 'DEFINITION_INVALID',
      where: 'capabilities/weather.ts',
      message: 'capabilities/weather.ts:25:1: Expected\nidentifier.',
      fix: 'Correct the file.',
    }
    const rejected = (problems: Problem[]): UpEvent => ({ name: 'definitions.rejected', event: { problems } })

    it('names what a reload changed when it is little', async () => {
      expect(
        await linesOf([
          swapped({ added: ['tool:shout', 'capability:shout'] }),
          swapped({ added: ['tool:a'], changed: ['tool:b', 'tool:c'], removed: many('dependency', 3) }),
          swapped({}),
        ]),
      ).toEqual([
        'generation 2: added tool:shout, capability:shout',
        'generation 2: added tool:a; changed tool:b, tool:c; removed dependency:n0, dependency:n1, dependency:n2',
        'generation 2: nothing changed',
      ])
    })

    it('counts what a reload changed by kind when it is much', async () => {
      const added = [...many('tool', 12), ...many('capability', 3)]
      expect(
        await linesOf([
          swapped({ added }),
          swapped({ added: many('dependency', 6), removed: ['tool:a', 'capability:a'] }),
        ]),
      ).toEqual([
        'generation 2: 12 tools, 3 capabilities added',
        'generation 2: 6 dependencies added; 1 tool, 1 capability removed',
      ])
    })

    it('counts the tools of a server that has many', async () => {
      const tools = many('tool', 1_900)
      expect(
        await linesOf([
          { name: 'tools.disabled', event: { tools, dependency: 'mail', reason: 'no answer' } },
          { name: 'tools.restored', event: { tools, dependency: 'mail' } },
        ]),
      ).toEqual(['disabled: 1900 tools (mail: no answer)', 'active again: 1900 tools (mail is back)'])
    })

    it('tells each new problem in a line of its own', async () => {
      const warning = { ...problem, severity: 'warning', subject: 'tool:weather', message: 'has no title.' } as const
      expect(await linesOf([rejected([problem, warning])])).toEqual([
        'problem: capabilities/weather.ts:25:1: Expected identifier.',
        'warning: capabilities/weather.ts · tool:weather: has no title.',
      ])
    })

    it('does not tell again what stood under the address already', async () => {
      const other = { ...problem, message: 'It is empty.' }
      const started = { status: { ...STATUS_REPORT, problems: [problem] } }
      expect(await linesOf([rejected([problem, other])], { early: true, started })).toEqual([
        'problem: capabilities/weather.ts: It is empty.',
      ])
    })

    it('tells of operations what the lines about calls do not', async () => {
      const caller = { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' } as const
      const change = (from: OperationState | undefined, to: OperationState): UpEvent => ({
        name: 'operation.changed',
        event: { id: 'op_1', tool: 'send', caller, from, to, at: 0, isTold: false },
      })
      expect(
        await linesOf([
          change(undefined, 'leased'),
          change('leased', 'succeeded'),
          change('leased', 'queued'),
          change('queued', 'leased'),
          change('leased', 'exhausted'),
          change('queued', 'expired'),
          change('queued', 'cancelled'),
        ]),
      ).toEqual([
        'send of worker: waits to be tried again (op_1)',
        'send of worker: runs (op_1)',
        'send of worker: failed after too many attempts; to try it again: quartermaster operations retry op_1',
        'send of worker: expired; to try it again: quartermaster operations retry op_1',
        'send of worker: cancelled (op_1)',
      ])
    })

    it('tells who asks for consent and what was answered, each once', async () => {
      const caller = { kind: 'agent', organisation: 'default', name: 'worker', workspace: 'worker' } as const
      const about = { id: 'op_1', tool: 'send', organisation: 'default', agent: 'worker' }
      const change = (from: OperationState | undefined, to: OperationState): UpEvent => ({
        name: 'operation.changed',
        event: { id: 'op_1', tool: 'send', caller, from, to, at: 0, isTold: false },
      })
      const by = { name: 'owner', via: 'owner' } as const
      expect(
        await linesOf([
          change(undefined, 'waitingForApproval'),
          { name: 'approval.opened', event: about },
          change('waitingForApproval', 'queued'),
          { name: 'approval.answered', event: { ...about, state: 'allowed', by } },
          change('waitingForApproval', 'denied'),
          { name: 'approval.answered', event: { ...about, state: 'denied', by } },
          change('waitingForApproval', 'expired'),
          { name: 'grants.revoked', event: { organisation: 'default', by: 'owner', count: 1 } },
        ]),
      ).toEqual([
        'worker asks for consent to send: quartermaster approvals show op_1',
        'send of worker: allowed by owner (op_1)',
        'send of worker: denied by owner (op_1)',
        'send of worker: expired (op_1)',
        '1 grant taken back by owner',
      ])
    })

    it('calls a dependency switched off that is', async () => {
      const event = {
        name: 'mail',
        from: 'up',
        to: 'optedOut',
        reason: 'It is switched off (enabled: false).',
      } as const
      expect(await linesOf([{ name: 'dependency.changed', event }])).toEqual([
        'mail is switched off in the configuration',
      ])
    })
  })

  it.each(['0.0.0.0', '::', '192.168.1.5', 'example.org'])(
    'warns that %s can be reached from other machines',
    async host => {
      const { asked, stderr } = await upAndDown(['--host', host])
      expect(asked.host).toBe(host)
      expect(stderr).toContain(`Warning: ${host} can be reached from other machines.`)
    },
  )

  it.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', 'localhost'])('does not warn about %s', async host => {
    expect((await upAndDown(['--host', host])).stderr).toBe('')
  })

  it.each([
    { argv: ['--port', '65536'], says: 'It must be a whole number from 0 to 65535.' },
    { argv: ['--port', '-1'], says: 'It must be a whole number from 0 to 65535.' },
    { argv: ['--port', '80.5'], says: 'It must be a whole number from 0 to 65535.' },
    { argv: ['--port', ''], says: 'It must be a whole number from 0 to 65535.' },
    { argv: ['--host', '127.0.0.1:80'], says: 'the port goes to --port' },
    { argv: ['--host', '300.1.1.1'], says: 'It must be an address' },
    { argv: ['--host', 'http://x'], says: 'It must be an address' },
    { argv: ['--host', ''], says: 'It must be an address' },
  ])('refuses $argv', async ({ argv, says }) => {
    const { run, seen } = running()
    expect(await run(...argv)).toBe(2)
    expect(seen.stderr).toContain(says)
    expect(seen.stderr).toContain('See: quartermaster up --help')
  })

  it('ends with the error when it cannot start', async () => {
    const { run, seen } = running({
      host: { up: () => Promise.reject(new AppError('STORE_LOCKED', 'The folder is in use.')) },
    })
    expect(await run()).toBe(10)
    expect(seen.stderr).toContain('Error: The folder is in use.')
  })

  it('stops the server when it cannot be announced', async () => {
    const { asked, run } = running({ started: { status: undefined as never } })
    expect(await run()).toBe(70)
    expect((await asked).signal.aborted).toBe(true)
  })

  it('ends with 130 when it is interrupted while it starts', async () => {
    const { run, seen, interrupt, clock } = running({
      host: {
        up: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      },
    })
    const ended = run()
    await clock.breathe()
    interrupt()
    expect(await ended).toBe(130)
    expect(seen.stderr).toBe('Cancelled.\n')
  })
})

describe('init', () => {
  const made = {
    created: ['quartermaster.config.json'],
    kept: ['agents/default.json'],
    install: ['npm', 'install', 'file:/my quarters'],
  }
  const init = async (argv: string[]) => {
    const dirs: string[] = []
    const { host, seen } = createFakeCliHost({
      host: {
        init: async ({ dir }) => {
          dirs.push(dir)
          return made
        },
      },
    })
    return { code: await runCli(['init', ...argv], host), dirs, ...seen }
  }

  it('says what it made, what it left alone and what comes next', async () => {
    expect(await init([])).toMatchObject({
      code: 0,
      dirs: [resolve('/project')],
      stdout: 'created  quartermaster.config.json\nkept     agents/default.json\n',
      stderr: "Next: npm install 'file:/my quarters' && npx quartermaster up\n",
    })
  })

  it('makes it in another folder, counted from the working folder', async () => {
    expect(await init(['my tools'])).toMatchObject({
      dirs: [resolve('/project', 'my tools')],
      stderr: "Next: cd 'my tools' && npm install 'file:/my quarters' && npx quartermaster up\n",
    })
  })

  it('answers a program with the same', async () => {
    const { stdout, stderr } = await init(['--json'])
    expect(JSON.parse(stdout)).toEqual(made)
    expect(stderr).toBe('')
  })
})
