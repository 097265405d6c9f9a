import { describe, expect, it } from 'vitest'
import { HTTP_LIMITS, SERVER_LIMITS } from '../../src/adapters/http/limits.ts'
import { FRONT_LIMITS } from '../../src/adapters/mcp-server/front-limits.ts'
import { MOST_SUBSCRIPTIONS } from '../../src/adapters/mcp-server/subscriptions.ts'
import { MOST_TASKS } from '../../src/adapters/mcp-server/tasks.ts'
import { MOST_WATCHED } from '../../src/adapters/mcp-server/watches.ts'
import { ANSWER_SECONDS, MOST_WAITING } from '../../src/core/operations/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/security.md')

/** The rows below a line, without what happens beyond the limit. */
const rowsBelow = (line: string) => tableBelow(page, line).map(([what, limit]) => [what, limit])

describe('docs/security.md', () => {
  it('has every limit of a connection, and no other', () => {
    const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, stalledReaderMs, ...more } = SERVER_LIMITS
    const { maxHeaderBytes, maxHeaders, maxConnections, ...rest } = more
    expect(rest).toEqual({})
    expect(rowsBelow('A connection:')).toEqual([
      ['time to send the headers', seconds(headersTimeoutMs)],
      ['time to send the request', seconds(requestTimeoutMs)],
      ['silence between two requests', seconds(keepAliveTimeoutMs)],
      ['time that an answer lies unread', seconds(stalledReaderMs)],
      ['size of the headers', bytes(maxHeaderBytes)],
      ['number of headers', count(maxHeaders)],
      ['connections at once', count(maxConnections)],
    ])
  })

  it('has every limit of the control API, and no other', () => {
    // A heartbeat is no limit: it keeps clients from giving up.
    const { maxBodyBytes, maxJsonDepth, maxJsonValues, maxInFlight, heartbeatMs: _heartbeat, ...rest } = HTTP_LIMITS
    expect(rest).toEqual({})
    expect(rowsBelow('The control API:')).toEqual([
      ['request body', bytes(maxBodyBytes)],
      ['nesting of JSON', count(maxJsonDepth)],
      ['values in JSON', count(maxJsonValues)],
      ['requests under way', count(maxInFlight)],
    ])
  })

  it('has every limit of the MCP endpoint, and no other', () => {
    const { maxBodyBytes, maxJsonDepth, maxJsonValues, maxBatch, maxInFlight, ...more } = FRONT_LIMITS
    const { maxStreams, maxSessions, maxBacklogBytes, ...rest } = more
    expect(rest).toEqual({})
    expect(rowsBelow('MCP, where counts')).toEqual([
      ['request body', bytes(maxBodyBytes)],
      ['nesting of JSON', count(maxJsonDepth)],
      ['values in JSON', count(maxJsonValues)],
      ['messages in one request', count(maxBatch)],
      ['requests under way, open streams included', count(maxInFlight)],
      ['open streams', count(maxStreams)],
      ['sessions', count(maxSessions)],
      ['unread bytes in one stream, beside the last message', bytes(maxBacklogBytes)],
      [`questions open, for ${ANSWER_SECONDS / 60} minutes each`, count(MOST_WAITING)],
      ['resources watched by one client', count(MOST_SUBSCRIPTIONS)],
      ['resources that tell of changes, watched by all together', count(MOST_WATCHED)],
      ['tasks under way of one agent, for `taskTtlMinutes` each', count(MOST_TASKS)],
    ])
  })
})

function seconds(ms: number): string {
  return `${ms / 1_000} s`
}

function bytes(size: number): string {
  return size < 1024 * 1024 ? `${size / 1024} KiB` : `${size / 1024 / 1024} MiB`
}

function count(amount: number): string {
  return amount.toLocaleString('en-US')
}
