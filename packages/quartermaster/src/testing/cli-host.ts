import type { CliHost, CliOutput } from '../adapters/cli/index.ts'
import type { AgentControl, Control } from '../contracts/index.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { fakeControl } from './fake-control.ts'

export interface CliHostOptions {
  control?: Partial<Control>
  env?: Record<string, string>
  /** Which of the three are terminals. */
  terminal?: { stdin?: boolean; stdout?: boolean; stderr?: boolean }
  columns?: number
  stdin?: string
  /** What the person answers, in turn. */
  answers?: string[]
  /** Who answers; this process when absent. */
  from?: 'up' | 'process'
  host?: Partial<Omit<CliHost, 'io'>>
}

/** A host whose outputs are collected, and what was seen there. */
export interface FakeCliHost {
  readonly host: CliHost
  readonly clock: FakeClock
  readonly seen: { stdout: string; stderr: string; questions: string[]; opened: object[]; closed: number }
  /** What Ctrl-C does. */
  interrupt(): void
}

/** A command line's surroundings in memory. */
export function createFakeCliHost(options: CliHostOptions = {}): FakeCliHost {
  const { terminal = {}, answers = [] } = options
  const seen: FakeCliHost['seen'] = { stdout: '', stderr: '', questions: [], opened: [], closed: 0 }
  const clock = createFakeClock()
  const interrupts = new AbortController()
  const output = (name: 'stdout' | 'stderr'): CliOutput => ({
    isTTY: terminal[name] === true,
    columns: options.columns,
    write: text => void (seen[name] += text),
  })
  const unused = (name: string) => () => Promise.reject(new Error(`"${name}" has no part in this test.`))
  const host: CliHost = {
    version: '1.2.3',
    cwd: '/project',
    signal: interrupts.signal,
    clock,
    io: {
      stdout: output('stdout'),
      stderr: output('stderr'),
      env: options.env ?? {},
      stdin: {
        isTTY: terminal.stdin === true,
        read: async () => options.stdin ?? '',
        line: async () => options.stdin?.split('\n')[0] ?? '',
        question: async prompt => {
          seen.questions.push(prompt)
          return answers.shift() ?? ''
        },
      },
    },
    openControl: async from => {
      seen.opened.push(from)
      return {
        control: fakeControl(options.control),
        from: options.from ?? 'process',
        close: async () => void seen.closed++,
      }
    },
    openPersonControl: async from => {
      seen.opened.push(from)
      return { control: fakeControl(options.control), from: 'up', close: async () => void seen.closed++ }
    },
    openAgentControl: async from => {
      seen.opened.push(from)
      return {
        control: fakeControl(options.control) as AgentControl,
        from: 'up',
        close: async () => void seen.closed++,
      }
    },
    up: unused('up'),
    connect: unused('connect'),
    connectCommand: unused('connectCommand'),
    connectElsewhere: unused('connectElsewhere'),
    elsewhereCommand: unused('elsewhereCommand'),
    checkElsewhere: unused('checkElsewhere'),
    join: unused('join'),
    openBrowser: async () => false,
    clientConfigs: unused('clientConfigs'),
    importApi: unused('importApi'),
    packageVersion: unused('packageVersion'),
    init: unused('init'),
    moveStore: unused('moveStore'),
    ...options.host,
  }
  return { host, clock, seen, interrupt: () => interrupts.abort() }
}
