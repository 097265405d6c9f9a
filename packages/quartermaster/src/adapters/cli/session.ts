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
import { defined } from './options.ts'
import { toJsonText } from './output/escape.ts'
import { createNoticePrinter, createPrinter, type Printer } from './output/printer.ts'
import { createProgressLine } from './output/progress-line.ts'

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
  /** It is about what the operation asks a person. */
  isApproval?: boolean | undefined
  /** It is about what of the upstream waits for a person. */
  isReview?: boolean | undefined
  /** The command that lists what was named. */
  listing?: readonly string[] | undefined
  /** What would give the agent the tool. */
  grant?: { readonly capability: string; readonly tools?: readonly string[] } | undefined
  /** It cannot be given: it comes by itself. */
  comesAlong?: boolean | undefined
  /** The agent's file has problems, and so it has no tools at all. */
  isAgentBroken?: boolean | undefined
}

/** One run of one command: its outputs, and the way to `Control`. */
export interface Session {
  readonly host: CliHost
  readonly options: GlobalOptions
  /** The words of the command line as they were written. */
  readonly line: readonly string[]
  /** Whether a program reads the answer. */
  readonly json: boolean
  /** Results. */
  readonly out: Printer
  /** Everything else. */
  readonly notices: Printer
  hints: Hints
  /** Where a person wants a new project, when that is not here. */
  newProject: string | undefined
  /** Who answers: an `up`, or this very process; known once connected. */
  from: OpenedControl['from'] | undefined
  /** Whether a token in the environment says who speaks, and not the data folder. */
  readonly hasToken: boolean
  printJson(value: unknown): Promise<void>
  /** Opens `Control` for as long as `use` runs, as the owner of the data folder. */
  connect<T>(use: (control: Control) => Promise<T>): Promise<T>
  /**
   * Opens what persons have of `Control`: as the person whose token is in the environment, and where there is none as the
   * owner of the data folder.
   */
  connectAsPerson<T>(use: (control: PersonControl) => Promise<T>): Promise<T>
  /**
   * Opens what agents have of `Control`: as the agent whose token is in the environment, and where there is none as the owner,
   * who asks for whom he likes and is handed all of it.
   */
  connectAsAgent<T>(use: (control: AgentControl, owner: Control | undefined) => Promise<T>): Promise<T>
  /** Runs something that may take long: Ctrl-C ends the wait, and after a second a line tells that it goes on. */
  attend<T>(label: string, run: (options: Attending) => Promise<T>): Promise<T>
  /** Waits for something until Ctrl-C, and says nothing. */
  untilAborted<T>(work: Promise<T>): Promise<T>
}

/** What something that may take long is given. */
export interface Attending extends ControlOptions {
  /** Clears the progress line while something else uses the terminal. */
  aside<T>(work: () => Promise<T>): Promise<T>
}

/** Closing gives up on its own after a time and records what was reported. Beyond this limit it is not waited for. */
const CLOSE_WITHIN_MS = 10_000

/** The same for a connection that is still being opened when the command is cancelled: a person waits for nothing then. */
const OPEN_WITHIN_MS = 2_000

export function createSession(host: CliHost, options: GlobalOptions, line: readonly string[] = []): Session {
  const looks = { env: host.io.env, color: options.color !== false }
  const json = options.json === true
  const place = defined({ config: options.config, data: options.data })
  const out = createPrinter(host.io.stdout, looks)
  const notices = createNoticePrinter(host.io.stderr, looks)
  const attend: Session['attend'] = async (label, run) => {
    const line = createProgressLine({ printer: notices, clock: host.clock, label, lines: !json })
    let awaited: readonly string[] = []
    const onAwaiting = (names: readonly string[]) => void (awaited = names)
    const aside: Attending['aside'] = async work => {
      const goOn = line.pause()
      return await work().finally(goOn)
    }
    try {
      const options = { signal: host.signal, onProgress: line.update, onAwaiting, aside }
      return await untilAborted(host.signal, run(options), () => cancelled(awaited))
    } finally {
      line.stop()
    }
  }
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
    attend,
    untilAborted: work => untilAborted(host.signal, work),
    hasToken: host.io.env.QUARTERMASTER_TOKEN !== undefined,
    async connect(use) {
      // The program has said so before; here nothing gets around it.
      if (session.hasToken) throw ownersAlone('This')
      return await through(host.openControl({ ...place, ...defined({ newProject: session.newProject }) }), use)
    },
    async connectAsPerson(use) {
      const person = tokenIn(host.io.env, options.url)
      return await through(person ? host.openPersonControl({ ...place, ...person }) : host.openControl(place), use)
    },
    async connectAsAgent(use) {
      const agent = tokenIn(host.io.env, options.url)
      if (agent) return await through(host.openAgentControl({ ...place, ...agent }), own => use(own, undefined))
      return await through(host.openControl(place), control => use(asAgent(control), control))
    },
  }

  async function through<C, T>(opening: Promise<OpenedControl<C>>, use: (control: C) => Promise<T>): Promise<T> {
    const opened = await attend('Starting', () => opening).catch(error => abandon(host, opening, error))
    session.from = opened.from
    try {
      return await use(opened.control)
    } finally {
      await within(host, CLOSE_WITHIN_MS, opened.close())
    }
  }
  return session
}

/** The owner says of whom a prompt is. */
function asAgent(control: Control): AgentControl {
  return { ...control, prompt: ({ agent = '', ...more }, options) => control.prompt({ agent, ...more }, options) }
}

/** Waits for something to end, but not for ever and whatever its end is. */
export async function within(host: CliHost, ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, cancel } = timer(host, ms)
  // The answer is out already; a failure to clean up behind it changes nothing the caller could act on.
  await Promise.race([work.catch(() => undefined), promise])
  cancel()
}

function timer(host: CliHost, ms: number): { promise: Promise<void>; cancel: () => void } {
  let cancel: () => void = () => {}
  const promise = new Promise<void>(resolve => {
    cancel = host.clock.after(ms, resolve)
  })
  return { promise, cancel }
}

function untilAborted<T>(signal: AbortSignal, work: Promise<T>, why = () => cancelled([])): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(why())
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

/** After giving up on opening, closes the connection if it still opens soon. */
async function abandon(host: CliHost, opening: Promise<OpenedControl<unknown>>, error: unknown): Promise<never> {
  await within(
    host,
    OPEN_WITHIN_MS,
    opening.then(opened => opened.close()),
  )
  throw error
}

type Environment = CliHost['io']['env']

/** Commands that an agent has with its token, by their words. */
const OF_AGENTS: ReadonlySet<string> = new Set(['do', 'call', 'tools', 'prompt', 'docs'])

/** Commands that a person has with theirs, with all below them. */
const OF_PERSONS: ReadonlySet<string> = new Set(['approvals', 'grants'])

/** Commands that act for no caller: a script for the shell, and what it asks. */
const WITHOUT_CALLER: ReadonlySet<string> = new Set(['completion', '__complete'])

/** Options of a call that only the owner of the data folder may give. */
const OF_THE_OWNER = { agent: '--agent', timeout: '--timeout', evenIfDisabled: '--even-if-disabled' } as const

/**
 * The caller that the environment names. An empty token, or an address without one, is a mistake and must not act as the
 * owner.
 */
function tokenIn(env: Environment, given: string | undefined): { token: string; url?: string } | undefined {
  const { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: fromEnv } = env
  const url = given ?? fromEnv
  if (token !== undefined && token.trim() !== '') return defined({ token: token.trim(), url })
  if (token !== undefined)
    throw new UsageError('QUARTERMASTER_TOKEN is empty. Put a token of yours into it, or unset it to act as the owner.')
  if (url !== undefined)
    throw new UsageError(
      `${given === undefined ? 'QUARTERMASTER_URL' : '--url'} needs a token of yours in QUARTERMASTER_TOKEN.`,
    )
  return undefined
}

/** Refuses commands of the owner when a token names another caller, before anything is opened. */
export function refuseOwners(command: Command, env: Environment): void {
  if (env.QUARTERMASTER_TOKEN === undefined) return
  tokenIn(env, undefined)
  const words = wordsOf(command)
  const [first = ''] = words
  if (OF_PERSONS.has(first) || WITHOUT_CALLER.has(first)) return
  const line = words.join(' ')
  if (!OF_AGENTS.has(line)) throw ownersAlone(`"quartermaster ${line}"`)
  for (const [name, flag] of Object.entries(OF_THE_OWNER))
    if (command.getOptionValueSource(name) === 'cli') throw ownersAlone(flag)
}

function ownersAlone(what: string): AppError {
  const message = `${what} is for the owner of the data folder, and the token in QUARTERMASTER_TOKEN is not the owner's.`
  return new AppError('REQUEST_REFUSED', `${message} Ask the owner.`)
}

function wordsOf(command: Command): string[] {
  return command.parent ? [...wordsOf(command.parent), command.name()] : []
}
