import type { AgentConfig, Problem } from '../../contracts/index.ts'

/** An agent as it is written down. A file that does not read has problems and no configuration, and so no tools. */
export interface AgentEntry {
  readonly name: string
  /** Where it stands, for people. */
  readonly file: string
  readonly config?: AgentConfig
  /** Changes whenever the file does. */
  readonly hash: string
  readonly problems: readonly Problem[]
}

/** Where agents are written down. */
export interface AgentStore {
  load(): Promise<readonly AgentEntry[]>
}
