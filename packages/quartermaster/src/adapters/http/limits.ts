/** What a request to the application may cost. */
export interface HttpLimits {
  /** The largest request body. Control inputs are small; a call's arguments rarely pass a few kilobytes. */
  readonly maxBodyBytes: number
  /** How deep JSON may nest; real inputs stay under ten, and recursive code behind us must not run out of stack. */
  readonly maxJsonDepth: number
  /** How many values JSON may have: each costs many times its bytes once it is parsed. */
  readonly maxJsonValues: number
  /** Requests to the control API under way at once; a person and their scripts need a few. */
  readonly maxInFlight: number
  /** How often a streamed answer that has nothing to say shows that it lives; clients give up after minutes of silence. */
  readonly heartbeatMs: number
  /** The same for Server-Sent Events, which proxies close after half a minute or more of silence. */
  readonly pingMs: number
}

export const HTTP_LIMITS: HttpLimits = {
  maxBodyBytes: 1024 * 1024,
  maxJsonDepth: 64,
  maxJsonValues: 100_000,
  maxInFlight: 256,
  heartbeatMs: 10_000,
  pingMs: 15_000,
}

/** What a connection to the server may cost. */
export interface ServerLimits {
  /** Time to send the headers, also for a connection that says nothing at all. */
  readonly headersTimeoutMs: number
  /** In each stretch of this time, the body of a request has to come at its pace. Answers may take as long as they need. */
  readonly requestTimeoutMs: number
  /** That pace: a slow line keeps it with a large file, and whoever only wants to hold a connection has to pay for it. */
  readonly bodyBytesPerSecond: number
  /** How long an idle connection is kept for the next request: longer than the 60 s after which clients and proxies let go of theirs. */
  readonly keepAliveTimeoutMs: number
  /** How long a client may leave what was sent to it unread; what waits for it takes memory. */
  readonly stalledReaderMs: number
  readonly maxHeaderBytes: number
  /** Browsers send about twenty. */
  readonly maxHeaders: number
  /** A further one takes the place of the one that has been idle longest, and is closed where none is: a flood must not use up file descriptors. */
  readonly maxConnections: number
}

export const SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  bodyBytesPerSecond: 8 * 1024,
  keepAliveTimeoutMs: 65_000,
  stalledReaderMs: 60_000,
  maxHeaderBytes: 16 * 1024,
  maxHeaders: 100,
  maxConnections: 1_024,
}
