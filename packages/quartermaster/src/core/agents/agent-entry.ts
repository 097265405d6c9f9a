import type { AgentConfig, Problem } from '../../contracts/index.ts'

/** An agent as it is written down. A file that does not read has problems and no configuration, so its agent has no tools. */
export interface AgentEntry {
  readonly name: string
  /** Where it stands, for people. */
  readonly file: string
  readonly config?: AgentConfig
  /** Capabilities that the file names and `config` leaves out, because their part of the file does not read, with the reason. */
  readonly wrong?: Readonly<Record<string, string>>
  /** Changes whenever the file does. */
  readonly hash: string
  readonly problems: readonly Problem[]
}

/** Where agents are written down. */
export interface AgentStore {
  load(): Promise<readonly AgentEntry[]>
}
