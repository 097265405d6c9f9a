/** An `up` that lets us in. */
export interface Gateway {
  /** Its MCP endpoint. */
  readonly url: string
  readonly token: string
  /** How long the token is good unless it is extended. */
  readonly goodForMs: number
  extend(): Promise<void>
  /** Gives the token back. */
  giveBack(): Promise<void>
}
