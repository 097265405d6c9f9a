import type { Seat } from '../../core/agents/index.ts'

/** Who makes a request over HTTP, known from its token. */
export interface Who {
  /** The token, by its id. Sessions and streams belong to it. */
  readonly tokenId: string
  readonly seat: Seat
}
