import type {
  AgentControl,
  AppError,
  Control,
  Events,
  Finding,
  ForeignServers,
  ImportedApi,
  Json,
  MovedStore,
  PersonControl,
  Progress,
  StatusReport,
} from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'

/** Where text goes. A reader that went away is an error with the code `EPIPE`, thrown or as a rejection. */
export interface CliOutput {
  write(text: string): void | Promise<void>
  readonly isTTY: boolean
  readonly columns?: number | undefined
}

export interface CliInput {
  readonly isTTY: boolean
  /** The whole input, as text. */
  read(): Promise<string>
  /** The first line, as soon as it has come; empty when the input ends without one. The rest cannot be read afterwards. */
  line(): Promise<string>
  /** One answer of the person at the terminal; empty when there is none. The prompt goes to standard error. */
  question(prompt: string, options: { signal: AbortSignal; isHidden?: boolean }): Promise<string>
}

export interface CliIo {
  readonly stdout: CliOutput
  readonly stderr: CliOutput
  readonly stdin: CliInput
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A `Control` that was opened for one command. */
export interface OpenedControl<C = Control> {
  readonly control: C
  readonly from: 'up' | 'process'
  close(): Promise<void>
}

/** What `up` reports to the person who watches it. */
export type UpEvent =
  | { [K in keyof Events]: { readonly name: K; readonly event: Events[K] } }[keyof Events]
  | { readonly name: 'notice'; readonly event: { readonly level: 'info' | 'warning'; readonly text: string } }

/** The project that a command is about, where the command line names it. */
interface Project {
  config?: string
  data?: string
}

export interface UpOptions extends Project {
  host: string
  /** 0 picks a free one. */
  port: number
  /** A program reads the output: diagnostics are JSON lines on standard error rather than events for a person. */
  json: boolean
  /** Started by a bridge: it stops when no client is connected. */
  background?: boolean
  onEvent(event: UpEvent): void
  /** Aborts to stop it. */
  signal: AbortSignal
}

/** A server that listens. */
export interface UpStarted {
  readonly url: string
  /** Further facts for the first line of `--json`, such as `token`. */
  readonly facts?: Readonly<Record<string, Json>>
  /** Further lines for people, under the address. */
  readonly notes?: readonly string[]
  readonly status: StatusReport
  /** Resolves when it has stopped and released everything. */
  readonly closed: Promise<void>
}

/** How a client starts the bridge. */
export interface ConnectCommand {
  /** The program and its script, by absolute paths. */
  readonly program: readonly string[]
  /** What the program is called, when a shell finds it under that name. */
  readonly name?: string | undefined
  readonly args: readonly string[]
  /** What the client has to set for it. A secret is named by its variable and not written. */
  readonly env?: Readonly<Record<string, { readonly value: string } | 'inherited'>> | undefined
  /** Why it would not work at the moment, for the person about to use it. */
  readonly doubts?: readonly string[]
}

/** Workspaces that are elsewhere: the address in the command line, or what the environment says. */
export interface Elsewhere {
  readonly url?: string | undefined
  /** Plain HTTP is allowed to other machines. */
  readonly isInsecure?: boolean | undefined
}

/** A caller with a token: of the `up` at this address or, without one, of the data folder's. */
interface TokenCaller extends Project {
  token: string
  url?: string
}

interface ConnectingAgent extends Project {
  agent: string
  organisation?: string
}

/** A workspace that was joined, and its token. */
export interface JoinedWorkspace {
  readonly token: string
  readonly workspace: { readonly id: string; readonly name: string; readonly organisation: string }
}

/** Everything that the command line is given from outside. */
export interface CliHost {
  readonly version: string
  readonly io: CliIo
  readonly cwd: string
  /** Aborts on Ctrl-C and when the process is asked to end. */
  readonly signal: AbortSignal
  readonly clock: Clock
  openControl(options: Project & { newProject?: string }): Promise<OpenedControl>
  openPersonControl(options: TokenCaller): Promise<OpenedControl<PersonControl>>
  openAgentControl(options: TokenCaller): Promise<OpenedControl<AgentControl>>
  up(options: UpOptions): Promise<UpStarted>
  /** Serves MCP on standard input and output until the client goes; answers why it never reached an `up`. */
  connect(options: ConnectingAgent): Promise<{ failure?: AppError }>
  connectCommand(options: ConnectingAgent): Promise<ConnectCommand>
  /** The same for workspaces that are elsewhere. */
  connectElsewhere(options: Elsewhere): Promise<{ failure?: AppError }>
  elsewhereCommand(options: Elsewhere): Promise<ConnectCommand>
  /** Redeems a join code of a server elsewhere. */
  join(
    options: { url: string; code: string; name?: string; isInsecure?: boolean },
    request: { signal: AbortSignal },
  ): Promise<JoinedWorkspace>
  /** Looks at each of these workspaces: whether it is reached, and what to do. */
  checkElsewhere(options: Elsewhere, request: { signal: AbortSignal }): Promise<Finding[]>
  /** Shows an address in the person's browser; answers whether there is one. */
  openBrowser(url: string): Promise<boolean>
  /** What other clients have configured: one client, a file, or every known place. */
  clientConfigs(options: Project & { source?: string; newProject?: string }): Promise<ForeignServers>
  /** Makes declarations of operations of an API that a document describes; without any it lists them. */
  importApi(
    options: Project & {
      source: string
      operations: readonly string[]
      isAll: boolean
      capability?: string
      server?: string
      /** The secret for each security scheme of the document. */
      secretNames?: Readonly<Record<string, string>>
      isForced: boolean
      isDryRun: boolean
    },
  ): Promise<ImportedApi>
  /** The version that npm would take now for a package, with a tag or a range or without. Throws when it cannot tell. */
  packageVersion(wanted: string): Promise<string>
  /** Copies what is in the file of the data folder into an empty database. */
  moveStore(
    options: Project & {
      to: string
      /** Where it was named. */
      named: '--to' | 'DATABASE_URL'
      dryRun: boolean
      showKey: boolean
      onProgress(progress: Progress): void
    },
  ): Promise<MovedStore>
  init(options: { dir: string }): Promise<{ created: string[]; kept: string[]; install: string[] }>
}
