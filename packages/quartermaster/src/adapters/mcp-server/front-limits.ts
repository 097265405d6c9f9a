import type { JsonLimits } from '../../core/kernel/index.ts'

/** What a client of the MCP endpoint may cost. Those of connections are in front of it, in the server. */
export interface FrontLimits extends JsonLimits {
  /** Larger requests are no tool calls. */
  readonly maxBodyBytes: number
  /** Messages in one request. Only the revision of 2025-03-26 knew such batches, and nobody made long ones. */
  readonly maxBatch: number
  /** Requests of one token under way, open streams included. */
  readonly maxInFlight: number
  /** Streams open to one token. A client keeps one or two, and each of its calls may be one more. */
  readonly maxStreams: number
  /** Sessions of one token; each holds a server and its client's stream. */
  readonly maxSessions: number
  /** What may wait in one stream for a client that does not read, beside the last message. */
  readonly maxBacklogBytes: number
}

export const FRONT_LIMITS: FrontLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxJsonDepth: 64,
  maxJsonValues: 100_000,
  maxBatch: 50,
  maxInFlight: 256,
  maxStreams: 128,
  maxSessions: 64,
  maxBacklogBytes: 1024 * 1024,
}
