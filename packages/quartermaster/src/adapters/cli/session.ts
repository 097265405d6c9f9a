import type { Command } from 'commander'
import {
  type AgentControl,
  AppError,
  type Control,
  type ControlOptions,
  type PersonControl,
} from '../../contracts/index.ts'
import { UsageError } from './errors.ts'
import type { CliHost, OpenedControl } from './host.ts'
import { defined, namesElsewhere } from './options.ts'
import { createProgressLine } from './output/progress-line.ts'
import { createNoticePrinter, createPrinter, type Printer, toJsonText } from './output/terminal.ts'

/** The options every command understands. */
interface GlobalOptions {
  config?: string | undefined
  data?: string | undefined
  url?: string | undefined
  json?: boolean | undefined
  color?: boolean | undefined
}

/** Names a command was about, for the next step behind an error. */
export interface Hints {
  agent?: string | undefined
  tool?: string | undefined
  capability?: string | undefined
  name?: string | undefined
  upstream?: string | undefined
  operation?: string | undefined
  /** The command is about the approval of the operation. */
  isApproval?: boolean | undefined
  /** The command is about the review of the upstream. */
  isReview?: boolean | undefined
  /** The command that lists what was named. */
  listing?: readonly string[] | undefined
  /** What would give the agent the tool. */
  grant?: { readonly capability: string; readonly tools?: readonly string[] } | undefined
  /** The tool cannot be granted: it comes with others. */
  comesAlong?: boolean | undefined
  /** The agent's file has problems, and so it has no tools at all. */
  isAgentBroken?: boolean | undefined
}

/** One run of one command: its outputs, and its connection to `Control`. */
export interface Session {
  readonly host: CliHost
  readonly options: GlobalOptions
  /** The words of the command line as they were written. */
  readonly line: readonly string[]
  /** Whether a program reads the answer. */
  readonly json: boolean
  /** Results, to standard output. */
  readonly out: Printer
  /** Everything else, to standard error. */
  readonly notices: Printer
  hints: Hints
  /** The folder for a new project, when that is not the current one. */
  newProject: string | undefined
  /** Who answers: an `up`, or this very process; known once connected. */
  from: OpenedControl['from'] | undefined
  /** Whether the caller is the agent or person of a token in the environment, and not the owner of the data folder. */
  readonly hasToken: boolean
  printJson(value: unknown): Promise<void>
  /** Opens `Control` for as long as `use` runs, as the owner of the data folder. */
  connect<T>(use: (control: Control) => Promise<T>): Promise<T>
  /** Opens it as the person whose token is in the environment; without one as the owner. */
  connectAsPerson<T>(use: (control: PersonControl) => Promise<T>): Promise<T>
  /** Opens it as the agent whose token is in the environment; without one as the owner, who is given all of `Control` too. */
  connectAsAgent<T>(use: (control: AgentControl, owner: Control | undefined) => Promise<T>): Promise<T>
  /** Runs something that may take long: Ctrl-C ends the wait, and after a second a progress line is shown. */
  attend<T>(label: string, run: (options: Attending) => Promise<T>): Promise<T>
  /** Waits for something until Ctrl-C, without a progress line. */
  untilAborted<T>(work: Promise<T>): Promise<T>
}

/** The options of something that may take long. */
export interface Attending extends ControlOptions {
  /** Clears the progress line while something else uses the terminal. */
  aside<T>(work: () => Promise<T>): Promise<T>
}

/** Closing has a time limit of its own, after which it records what was reported. Beyond this one it is not waited for. */
const CLOSE_WITHIN_MS = 10_000

/** The same for a connection that is still being opened when the command is cancelled: the person wants to leave. */
const OPEN_WITHIN_MS = 2_000

export function createSession(host: CliHost, options: GlobalOptions, line: readonly string[] = []): Session {
  const style = { env: host.io.env, color: options.color !== false }
  const json = options.json === true
  const project = defined({ config: options.config, data: options.data })
  const out = createPrinter(host.io.stdout, style)
  const notices = createNoticePrinter(host.io.stderr, style)
  const session: Session = {
    host,
    options,
    line,
    json,
    out,
    notices,
    hints: {},
    newProject: undefined,
    from: undefined,
    printJson: value => out.write(`${toJsonText(value, { pretty: out.isTerminal })}\n`),
    async attend(label, run) {
      const line = createProgressLine({ printer: notices, clock: host.clock, label, lines: !json })
      let awaited: readonly string[] = []
      const running = run({
        signal: host.signal,
        onProgress: line.update,
        onAwaiting: names => void (awaited = names),
        aside: work => {
          const resume = line.pause()
          return work().finally(resume)
        },
      })
      try {
        return await untilAborted(host.signal, running, () => cancelled(awaited))
      } finally {
        line.stop()
      }
    },
    untilAborted: work => untilAborted(host.signal, work),
    hasToken: host.io.env.QUARTERMASTER_TOKEN !== undefined,
    async connect(use) {
      // The program has refused this already; here nothing gets around it.
      if (session.hasToken) throw ownersAlone('This')
      return await useControl(host.openControl({ ...project, ...defined({ newProject: session.newProject }) }), use)
    },
    async connectAsPerson(use) {
      const person = tokenIn(host.io.env, options.url)
      return await useControl(
        person ? host.openPersonControl({ ...project, ...person }) : host.openControl(project),
        use,
      )
    },
    async connectAsAgent(use) {
      const agent = tokenIn(host.io.env, options.url)
      if (agent) return await useControl(host.openAgentControl({ ...project, ...agent }), own => use(own, undefined))
      return await useControl(host.openControl(project), control => use(asAgent(control), control))
    },
  }

  async function useControl<C, T>(opening: Promise<OpenedControl<C>>, use: (control: C) => Promise<T>): Promise<T> {
    const opened = await session
      .attend('Starting', () => opening)
      .catch(async error => {
        // The connection may still open after Ctrl-C, and is closed then.
        await within(
          host,
          OPEN_WITHIN_MS,
          opening.then(late => late.close()),
        )
        throw error
      })
    session.from = opened.from
    try {
      return await use(opened.control)
    } finally {
      await within(host, CLOSE_WITHIN_MS, opened.close())
    }
  }
  return session
}

/** The owner names the agent whose prompt is meant. */
function asAgent(control: Control): AgentControl {
  return { ...control, prompt: ({ agent = '', ...more }, options) => control.prompt({ agent, ...more }, options) }
}

/** Waits for something to end, but no longer than this, and whether it fails or not. */
export async function within(host: CliHost, ms: number, work: Promise<unknown>): Promise<void> {
  let cancel: () => void = () => {}
  const timer = new Promise<void>(resolve => {
    cancel = host.clock.after(ms, resolve)
  })
  // The answer is out already; a failure to clean up behind it changes nothing the caller could act on.
  await Promise.race([work.catch(() => undefined), timer])
  cancel()
}

function untilAborted<T>(signal: AbortSignal, work: Promise<T>, toError = () => cancelled([])): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError())
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** Says what the command was waiting for, which a person who pressed Ctrl-C does not always know. */
function cancelled(awaited: readonly string[]): AppError {
  if (awaited.length === 0) return new AppError('CANCELLED', 'Cancelled.')
  const names = awaited.map(name => `"${name}"`).join(', ')
  const message = `Cancelled while waiting for the first start of ${names}. To let it continue: quartermaster up`
  return new AppError('CANCELLED', message, { details: { awaited: [...awaited] } })
}

type Environment = CliHost['io']['env']

/** Commands that an agent has with its token, by their words. */
const AGENT_COMMANDS: ReadonlySet<string> = new Set(['do', 'call', 'tools', 'prompt', 'docs'])

/** Commands that a person has with theirs, with all subcommands. */
const PERSON_COMMANDS: ReadonlySet<string> = new Set(['approvals', 'grants'])

/** Commands that act for no caller: the completion script and what it calls, and joining with a code. */
const COMMANDS_WITHOUT_CALLER: ReadonlySet<string> = new Set(['completion', '__complete', 'join'])

/** Options of a call that only the owner of the data folder may give. */
const OWNER_OPTIONS = { agent: '--agent', timeout: '--timeout', evenIfDisabled: '--even-if-disabled' } as const

/** The caller that the environment names. An empty token, or an address without one, must not act as the owner. */
function tokenIn(env: Environment, given: string | undefined): { token: string; url?: string } | undefined {
  const { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: fromEnv } = env
  const url = given ?? fromEnv
  if (token !== undefined && token.trim() !== '') return defined({ token: token.trim(), url })
  if (token !== undefined)
    throw new UsageError('QUARTERMASTER_TOKEN is empty. Put a token of yours into it, or unset it to act as the owner.')
  if (url === undefined) return undefined
  const name = given === undefined ? 'QUARTERMASTER_URL' : '--url'
  throw new UsageError(`${name} needs a token of yours in QUARTERMASTER_TOKEN.`)
}

/** Refuses commands of the owner when a token names another caller, before anything is opened. */
export function refuseOwners(command: Command, env: Environment): void {
  if (env.QUARTERMASTER_TOKEN === undefined) return
  tokenIn(env, undefined)
  const words = wordsOf(command)
  const [first = ''] = words
  if (PERSON_COMMANDS.has(first) || COMMANDS_WITHOUT_CALLER.has(first)) return
  const line = words.join(' ')
  // The token is that of a workspace elsewhere, and nothing of this machine is opened.
  if (namesElsewhere(env, command.opts()) && (line === 'connect' || (line === 'doctor' && command.opts().connect)))
    return
  if (!AGENT_COMMANDS.has(line)) throw ownersAlone(`"quartermaster ${line}"`)
  for (const [name, flag] of Object.entries(OWNER_OPTIONS))
    if (command.getOptionValueSource(name) === 'cli') throw ownersAlone(flag)
}

function ownersAlone(what: string): AppError {
  const message = `${what} is for the owner of the data folder, and the token in QUARTERMASTER_TOKEN is not the owner's.`
  return new AppError('REQUEST_REFUSED', `${message} Ask the owner.`)
}

function wordsOf(command: Command): string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : []
}
