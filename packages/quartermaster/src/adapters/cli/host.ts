import type {
  AgentControl,
  AppError,
  Control,
  Events,
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
  /** All of it, as text. */
  read(): Promise<string>
  /** Its first line, as soon as that is there; empty when it ends without one. Nothing else of it can be had afterwards. */
  line(): Promise<string>
  /** One answer of the person at the terminal; empty when there is none. The prompt goes where standard error goes. */
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

/** What `up` tells the person who watches it. */
export type UpEvent =
  | { [K in keyof Events]: { readonly name: K; readonly event: Events[K] } }[keyof Events]
  | { readonly name: 'notice'; readonly event: { readonly level: 'info' | 'warning'; readonly text: string } }

export interface UpOptions {
  host: string
  /** 0 picks a free one. */
  port: number
  data?: string
  config?: string
  /** A program reads along: diagnostics are JSON lines on standard error rather than events for a person. */
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
  /** Resolves when it has stopped and let go of everything. */
  readonly closed: Promise<void>
}

/** How a client starts the bridge. */
export interface ConnectCommand {
  /** The program and what it runs, by whole paths. */
  readonly program: readonly string[]
  /** What the program is called, when a shell finds it under that name. */
  readonly name?: string | undefined
  readonly args: readonly string[]
  /** Why it would not work as things are, for the person about to use it. */
  readonly doubts?: readonly string[]
}

/** Everything the command line is handed. It knows nothing else. */
export interface CliHost {
  readonly version: string
  readonly io: CliIo
  readonly cwd: string
  /** Aborts on Ctrl-C and when the process is asked to end. */
  readonly signal: AbortSignal
  readonly clock: Clock
  openControl(options: { newProject?: string; config?: string; data?: string }): Promise<OpenedControl>
  /** What persons have of it, of the `up` at this address or, without one, of the data folder's. */
  openPersonControl(options: {
    token: string
    url?: string
    config?: string
    data?: string
  }): Promise<OpenedControl<PersonControl>>
  /** What an agent has of itself, of the `up` at this address or, without one, of the data folder's or the usual place's. */
  openAgentControl(options: {
    token: string
    url?: string
    config?: string
    data?: string
  }): Promise<OpenedControl<AgentControl>>
  up(options: UpOptions): Promise<UpStarted>
  /** Is an MCP server on standard input and output until the client goes; answers why it never got to an `up`. */
  connect(options: {
    agent: string
    organisation?: string
    config?: string
    data?: string
  }): Promise<{ failure?: AppError }>
  connectCommand(options: {
    agent: string
    organisation?: string
    config?: string
    data?: string
  }): Promise<ConnectCommand>
  /** Shows an address in the person's browser; answers whether there is one. */
  openBrowser(url: string): Promise<boolean>
  /** What other clients have configured: one of them, a file, or every known place. */
  clientConfigs(options: {
    source?: string
    newProject?: string
    config?: string
    data?: string
  }): Promise<ForeignServers>
  /** Makes declarations of operations of an API that a document describes; without any it lists them. */
  importApi(options: {
    source: string
    operations: readonly string[]
    isAll: boolean
    capability?: string
    server?: string
    /** Which secret is meant, by the names that the document has for ways to sign in. */
    secretNames?: Readonly<Record<string, string>>
    isForced: boolean
    isDryRun: boolean
    config?: string
    data?: string
  }): Promise<ImportedApi>
  /** The version that npm would take now for a package, which may have a tag or a range behind it. Throws when it cannot tell. */
  packageVersion(wanted: string): Promise<string>
  /** Copies what is in the file of the data folder into an empty database. */
  moveStore(options: {
    to: string
    /** Where it was named. */
    named: '--to' | 'DATABASE_URL'
    dryRun: boolean
    showKey: boolean
    config?: string
    data?: string
    onProgress(progress: Progress): void
  }): Promise<MovedStore>
  init(options: { dir: string }): Promise<{ created: string[]; kept: string[]; install: string[] }>
}
