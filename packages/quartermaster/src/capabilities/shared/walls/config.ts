/** One folder an agent may use. */
export interface Root {
  /** As its owner wrote it: the only name for it that an agent is shown. */
  readonly label: string
  readonly path: string
}

/** What the walls around an agent's folders know of its configuration. */
export interface WallsConfig {
  readonly roots: readonly Root[]
  /** Where relative paths count from that are not found in a root; the project folder when absent. */
  readonly base?: string
  /** Whether the agent may write what decides about its own permission. */
  readonly editProject: boolean
}

/** What differs in what the walls say, by the capability they stand in. */
export interface WallWords {
  /** The tool that shows what there is. */
  readonly look: string
  /** The setting that names the folders, in an agent's file. */
  readonly setting: string
  /** How a person lets the agent write control files after all, as the end of a sentence; absent where that is impossible. */
  readonly unlock?: string
}
