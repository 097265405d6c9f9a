import type { LentFiles } from '../../contracts/index.ts'

/** An `up` that lets us in. */
export interface Gateway {
  /** Its MCP endpoint. */
  readonly url: string
  readonly token: string
  /** How long the token is good unless it is extended. */
  readonly goodForMs: number
  /** How files of the agent are handed in there; absent where they cannot be. */
  readonly files?: (LentFiles & { readonly url: string }) | undefined
  extend(): Promise<void>
  /** Gives the token back. */
  giveBack(): Promise<void>
}
