import { describe, expect, it } from 'vitest'
import { A2A_CLIENT_LIMITS } from '../../src/adapters/a2a-client/index.ts'
import { HTTP_LIMITS, SERVER_LIMITS } from '../../src/adapters/http/index.ts'
import { MOST_HELD, TAIL_MS } from '../../src/adapters/http-client/index.ts'
import { MOST_HEAD_CHARACTERS } from '../../src/adapters/knowledge-files/front-matter.ts'
import { MOST_BYTES } from '../../src/adapters/knowledge-files/knowledge-source.ts'
import { FRONT_LIMITS } from '../../src/adapters/mcp-server/http-streams.ts'
import { MOST_SUBSCRIPTIONS, MOST_WATCHED } from '../../src/adapters/mcp-server/subscriptions.ts'
import { MOST_TASKS } from '../../src/adapters/mcp-server/tasks.ts'
import { MOST_CAPABILITY_SERVERS } from '../../src/adapters/mcp-upstream/capability-servers.ts'
import {
  DELAYS_MS,
  DEMAND_START_MS,
  MOST_BUSY_MS,
  MOST_CRASHES_UNSERVED,
  MOST_EARLY_STARTS,
} from '../../src/adapters/mcp-upstream/connection/connection-state-machine.ts'
import { MOST_AGENTS } from '../../src/adapters/mcp-upstream/connection/connections.ts'
import { FAILING_MS, MOST_FAILED } from '../../src/adapters/mcp-upstream/connection/failures.ts'
import { HANG_MS, QUIET_MS } from '../../src/adapters/mcp-upstream/connection/health-ping.ts'
import { MOST_BREAKS, MOST_TRIES } from '../../src/adapters/mcp-upstream/connection/send-with-retry.ts'
import { MOST_ADDRESS_ROUNDS, MOST_OPEN_CALLS } from '../../src/adapters/mcp-upstream/offer/upstream-calls.ts'
import { FETCH_LIMITS } from '../../src/adapters/mcp-upstream/peer/fetch-listing.ts'
import { MESSAGE_LIMITS } from '../../src/adapters/mcp-upstream/peer/incoming-message.ts'
import { MOST_OPEN_QUESTIONS } from '../../src/adapters/mcp-upstream/peer/peer.ts'
import { LONGEST_DELAY_MS, MOST_DELIVERIES } from '../../src/adapters/mcp-upstream/peer/questions.ts'
import {
  LONGEST_PAUSE_MS,
  LONGEST_SERVER_NAME,
  MOST_ATTEMPTS,
} from '../../src/adapters/mcp-upstream/peer/session-parts.ts'
import { LEAST_STARTS, MOST_REMOTE_STARTS, TURN_MS } from '../../src/adapters/mcp-upstream/start-queue.ts'
import { LOG_LIMITS } from '../../src/adapters/mcp-upstream/transport/child-log.ts'
import { CHANNEL_LIMITS } from '../../src/adapters/mcp-upstream/transport/http-channel.ts'
import { MOST_REDIRECTS } from '../../src/adapters/mcp-upstream/transport/http-sender.ts'
import { MOST_BYTES_A_SECOND } from '../../src/adapters/mcp-upstream/transport/program-output.ts'
import { STDIO_LIMITS } from '../../src/adapters/mcp-upstream/transport/stdio-channel.ts'
import { DOWNLOAD_MS } from '../../src/adapters/mcp-upstream/upstream-entry.ts'
import { DOCUMENT_BYTES, SCHEMA_CHARACTERS, YAML_BYTES } from '../../src/adapters/openapi/index.ts'
import { MOST_PATHS } from '../../src/adapters/programs/caller-paths.ts'
import { HANGING_TIMES, STOP_TIMES } from '../../src/adapters/programs/child.ts'
import { HTTP_OP_LIMITS } from '../../src/capabilities/http/settings.ts'
import { PROGRAM_OP_LIMITS } from '../../src/capabilities/program/settings.ts'
import {
  DELEGATION_RESULT_BYTES,
  EXTERNAL_PEER_CAPACITY,
  LONGEST_ATTACHMENT_NAME,
  LONGEST_MEMORY,
  LONGEST_MEMORY_QUERY,
  MEMORY_PAGE,
  MESSAGE_BYTES,
  MESSAGE_ROUTES,
  MOST_ATTACHMENTS,
  MOST_OPEN_DELEGATIONS,
  MOST_PARTS,
  MOST_QUEUED_DELEGATIONS,
  MOST_WAITING_MESSAGES,
  StdioUpstream,
  TASK_BYTES,
} from '../../src/contracts/index.ts'
import { MOST_UNUSED } from '../../src/core/attachments/index.ts'
import { MOST_FILE_BYTES } from '../../src/core/external-peers/index.ts'
import { LONGEST_RETRY_MS } from '../../src/core/kernel/index.ts'
import { INCLUDE_LIMITS, MOST_PAGE_CHARACTERS, MOST_PAGES } from '../../src/core/knowledge/index.ts'
import { MOST_CHARACTERS } from '../../src/core/memory/memory.ts'
import { MOST_QUERY_WORDS, MOST_ROWS } from '../../src/core/memory/words.ts'
import { MOST_ON_A_PAGE } from '../../src/core/memory/write.ts'
import { MOST_READERS } from '../../src/core/messages/readers.ts'
import { ANSWER_SECONDS, MOST_ROUNDS, MOST_WAITING } from '../../src/core/operations/index.ts'
import { LISTING_LIMITS, MOST_WANTED } from '../../src/core/upstreams/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/security.md')

/** The rows below a line, without what happens beyond the limit. */
const rowsBelow = (line: string) => tableBelow(page, line).map(([what, limit]) => [what, limit])

const upstreamRows = rowsBelow('Upstreams, where counts')

describe('docs/security.md', () => {
  it('has every limit of a connection, and no other', () => {
    const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, stalledReaderMs, ...more } = SERVER_LIMITS
    const { maxHeaderBytes, maxHeaders, maxConnections, bodyBytesPerSecond, ...rest } = more
    expect(rest).toEqual({})
    expect(rowsBelow('A connection:')).toEqual([
      ['time to send the headers', seconds(headersTimeoutMs)],
      ['time in which a body has to come at its pace', seconds(requestTimeoutMs)],
      ['pace of a body, per second', bytes(bodyBytesPerSecond)],
      ['silence between two requests', seconds(keepAliveTimeoutMs)],
      ['time that an answer lies unread', seconds(stalledReaderMs)],
      ['size of the headers', bytes(maxHeaderBytes)],
      ['number of headers', count(maxHeaders)],
      ['connections at once', count(maxConnections)],
    ])
  })

  it('has the limits of tools without code', () => {
    const { answerBytes, mostAnswerBytes, redirects, refusalCharacters, ...more } = HTTP_OP_LIMITS
    const { outputBytes, mostOutputBytes, complaintCharacters, ...rest } = PROGRAM_OP_LIMITS
    expect({ ...more, ...rest }).toEqual({})
    expect(rowsBelow('[Tools without code](tools-without-code.md):')).toEqual([
      ['answer to a request, unless the file says otherwise', bytes(answerBytes)],
      ['answer to a request, whatever the file says', bytes(mostAnswerBytes)],
      ['redirects of one request', count(redirects)],
      ['characters of a server that says no', count(refusalCharacters)],
      ['output of a program, unless the file says otherwise', bytes(outputBytes)],
      ['output of a program, whatever the file says', bytes(mostOutputBytes)],
      ['characters of the complaints of a program that failed', count(complaintCharacters)],
      ['paths in the values of one call of a program that are looked for on the disk', count(MOST_PATHS)],
      ['OpenAPI document', bytes(DOCUMENT_BYTES)],
      ['the same as YAML', bytes(YAML_BYTES)],
      ['characters of what an operation of it takes', count(SCHEMA_CHARACTERS)],
    ])
  })

  it('has the limits of knowledge', () => {
    expect(rowsBelow('[Knowledge](knowledge.md#limits):')).toEqual([
      ['a file', bytes(MOST_BYTES)],
      ['characters of its head', count(MOST_HEAD_CHARACTERS)],
      ['bytes of a unit with all it includes', bytes(INCLUDE_LIMITS.bytes)],
      ['characters of a text that an agent is shown at once', count(MOST_PAGE_CHARACTERS)],
      ['pages that are put together at once', count(MOST_PAGES)],
    ])
  })

  it('has the limits of attachments', () => {
    expect(rowsBelow('[Attachments](attachments.md):').slice(0, 4)).toEqual([
      ['size of one file', '`attachmentMegabytes`'],
      ['characters of its name', count(LONGEST_ATTACHMENT_NAME)],
      ['files of one workspace or person that no message has', count(MOST_UNUSED)],
      ['time that such a file is kept', '`attachmentOrphanHours`'],
    ])
  })

  it('has every limit of messages', () => {
    expect(rowsBelow('[Messages](messages.md):')).toEqual([
      ['text and parts of one message', bytes(MESSAGE_BYTES)],
      ['request body with one, as it was written', bytes(MESSAGE_ROUTES.sendMessage.bodyBytes)],
      ['parts of one message', count(MOST_PARTS)],
      ['attachments of one message', count(MOST_ATTACHMENTS)],
      ['messages that wait in one inbox', count(MOST_WAITING_MESSAGES)],
      ['readers that wait for one workspace', count(MOST_READERS)],
      ['streams that follow one log', count(MOST_READERS)],
    ])
  })

  it('has every limit of memory', () => {
    expect(rowsBelow('[Memory](memory.md):')).toEqual([
      ['size of one memory', bytes(LONGEST_MEMORY)],
      ['memories of one workspace in one scope', '`workspaceMemories`'],
      ['characters of a question', count(LONGEST_MEMORY_QUERY)],
      ['words of a question that count', count(MOST_QUERY_WORDS)],
      ['memories on a page', count(MEMORY_PAGE.most)],
      ['characters of the memories on a page', count(MOST_ON_A_PAGE)],
      ['rows that are weighed for one question', count(MOST_ROWS)],
      ['characters at the start of a session', count(MOST_CHARACTERS)],
    ])
  })

  it('has every limit of delegations', () => {
    expect(rowsBelow('[Delegations](delegation.md):')).toEqual([
      ['words of one task', bytes(TASK_BYTES)],
      ['text and parts of one result', bytes(DELEGATION_RESULT_BYTES)],
      ['tasks of one workspace at a time', count(MOST_OPEN_DELEGATIONS)],
      ['tasks that wait for one workspace', count(MOST_QUEUED_DELEGATIONS)],
    ])
  })

  it('has every limit of A2A agents elsewhere', () => {
    const { cardBytes, cardMs, answerBytes, askedMs, saidMs, silenceMs, ...rest } = A2A_CLIENT_LIMITS
    expect(rest).toEqual({})
    expect(rowsBelow('[A2A agents elsewhere](a2a.md#agents-elsewhere):')).toEqual([
      ['size of a card', bytes(cardBytes)],
      ['time for a card', seconds(cardMs)],
      ['size of an answer or event', bytes(answerBytes)],
      ['time for an answer about a task', seconds(askedMs)],
      ['time for an answer to a message', seconds(saidMs)],
      ['silence in a stream', seconds(silenceMs)],
      ['files of one task', bytes(MOST_FILE_BYTES)],
      ['tasks of one at a time', count(EXTERNAL_PEER_CAPACITY.most)],
    ])
  })

  it('has every limit of the control API, and no other', () => {
    // Heartbeats are no limits: they keep clients from giving up.
    const { maxBodyBytes, maxJsonDepth, maxJsonValues, maxInFlight, ...more } = HTTP_LIMITS
    const { heartbeatMs: _heartbeat, pingMs: _ping, ...rest } = more
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

  it('has every limit of what upstreams send, and no other', () => {
    const { bytes: messageBytes, maxJsonDepth, maxJsonValues, maxJsonMembers, inBatch, ...messageMore } = MESSAGE_LIMITS
    const { errorMessageCharacters, errorCharacters, ...messageOwn } = messageMore
    const { ownCharacters, modelQuestionCharacters, ownValues, ...messageRest } = messageOwn
    const { maxLineBytes, maxSkippedBytes, maxGreeting, maxNoise, maxWaitingBytes, ...stdioRest } = STDIO_LIMITS
    const { items, pages, characters, ...fetchRest } = FETCH_LIMITS
    const { definitions, charactersOfOne, characters: charactersOfAll, names, ...listingRest } = LISTING_LIMITS
    expect({ ...messageRest, ...stdioRest, ...fetchRest, ...listingRest }).toEqual({})
    expect(maxLineBytes).toBe(messageBytes)
    expect(upstreamRows.slice(0, 23)).toEqual([
      ['a message of a server', bytes(messageBytes)],
      ['nesting of a message', count(maxJsonDepth)],
      ['values in a message', count(maxJsonValues)],
      ['members of one object in a message', count(maxJsonMembers)],
      ['messages in a batch', count(inBatch)],
      ['characters of the message of an error', count(errorMessageCharacters)],
      ['characters of an error with its data', count(errorCharacters)],
      ['characters of what a server tells or asks on its own', count(ownCharacters)],
      ['the same, of a question to a model', count(modelQuestionCharacters)],
      ['values in what a server tells or asks on its own', count(ownValues)],
      ['characters of what a server calls itself: its name, its title, its version', count(LONGEST_SERVER_NAME)],
      ['a line of a program, too long for a message, that is followed to its end', bytes(maxSkippedBytes)],
      ['lines of a program before its first message', count(maxGreeting)],
      ['lines of a program in a row that are no messages, after that', count(maxNoise)],
      ['the same, in bytes', bytes(maxSkippedBytes)],
      ['bytes that wait for a program to read them', bytes(maxWaitingBytes)],
      ['items of one kind that are listed', count(items)],
      ['pages of one kind that are listed', count(pages)],
      ['characters of one kind that are listed', count(characters)],
      ['definitions', count(definitions)],
      ['characters of all definitions', count(charactersOfAll)],
      ['characters of one definition', count(charactersOfOne)],
      ['names of what is gone, beyond these', count(names)],
    ])
  })

  it('has every limit of what is done with upstreams, and no other', () => {
    const { lines, bytes: logBytes, lineBytes, linesASecond, ...logRest } = LOG_LIMITS
    const { graceMs, termMs, ...stopRest } = STOP_TIMES
    const { startSeconds } = StdioUpstream.parse({ command: 'server' })
    expect({ ...logRest, ...stopRest }).toEqual({})
    expect(upstreamRows.slice(23)).toEqual([
      ['agents with a connection of their own', count(MOST_AGENTS)],
      ['servers that capabilities name, all together', count(MOST_CAPABILITY_SERVERS)],
      ['requests of one agent under way', count(MOST_OPEN_CALLS)],
      ['requests of a server to us, at a time or in one answer', count(MOST_OPEN_QUESTIONS)],
      ['attempts to give a server the answer to one of them', count(MOST_DELIVERIES)],
      ['pause that the server may ask for before the next of these', seconds(LONGEST_DELAY_MS)],
      ['rounds of questions in one call', count(MOST_ROUNDS)],
      ['visits to addresses that a call asks for', count(MOST_ADDRESS_ROUNDS)],
      ['attempts to send one call', count(MOST_TRIES)],
      ['the same, where the connection breaks at work on it alone', count(MOST_BREAKS)],
      ['attempts to go on with a call that a busy server has begun', count(MOST_ATTEMPTS)],
      ['pause in such a call that the server may ask for', seconds(LONGEST_PAUSE_MS)],
      ['pause that a busy server may ask for', hours(LONGEST_RETRY_MS)],
      ["redirects of one request, within the server's origin", count(MOST_REDIRECTS)],
      ['characters of the rights that a login lacks', count(MOST_WANTED)],
      ['answers by HTTP of a connection that nobody needs, until their end', count(MOST_HELD)],
      ['time for the end of such an answer, or of a refusal', seconds(TAIL_MS)],
      [
        'time for what is under way by HTTP at a server that lets us in no more',
        `${CHANNEL_LIMITS.finishMs / 60_000} min`,
      ],
      ['log lines kept', count(lines)],
      ['bytes of the log kept', bytes(logBytes)],
      ['bytes of a log line', bytes(lineBytes)],
      [
        'log lines a second, of standard error, of messages, of what is no message and of our own each',
        count(linesASecond),
      ],
      ['bytes of standard error a second', bytes(MOST_BYTES_A_SECOND)],
      ['programs that `up` starts at a time when it begins', `as many as there are cores, ${LEAST_STARTS} at least`],
      ['the same, of servers by HTTP', count(MOST_REMOTE_STARTS)],
      ['time for which one of these keeps the next waiting', seconds(TURN_MS)],
      ['time to start and say what it has', `${startSeconds} s (\`startSeconds\`)`],
      [
        'the same, of a package that `npx`, `uvx`, `docker run` or the like starts for the first time',
        `${DOWNLOAD_MS / 60_000} min`,
      ],
      ['silence at work before it is asked whether it is there', seconds(QUIET_MS)],
      ['silence to a ping before it counts as hanging', seconds(HANG_MS)],
      [
        'requests in a row that fail at a server which answers pings, and over which time',
        `${MOST_FAILED} in ${seconds(FAILING_MS)}`,
      ],
      [
        'silence at work, of one that was never heard while it worked, or that may be at work after its answer',
        'what a call may take',
      ],
      ['time to end after its input was closed', seconds(graceMs)],
      ['time to end after SIGTERM', seconds(termMs)],
      ['the same, of one that hangs, which is not asked by its input first', seconds(HANGING_TIMES.termMs)],
      ['longest pause before it is started again', seconds(Math.max(...DELAYS_MS))],
      ['time from one start to the next that a call or a recheck asks for', seconds(DEMAND_START_MS)],
      [
        'falls in a row without an answer to a call, until calls do not shorten its pauses',
        count(MOST_CRASHES_UNSERVED),
      ],
      ['the same, where it is busy and asks for longer', `${MOST_BUSY_MS / 60_000} min`],
      [
        'starts that do not wait for their time, because a file changed or a port opened, in a row',
        count(MOST_EARLY_STARTS),
      ],
    ])
  })
})

function seconds(ms: number): string {
  return `${ms / 1_000} s`
}

function hours(ms: number): string {
  return `${ms / 3_600_000} h`
}

function bytes(size: number): string {
  return size < 1024 * 1024 ? `${size / 1024} KiB` : `${size / 1024 / 1024} MiB`
}

function count(amount: number): string {
  return amount.toLocaleString('en-US')
}
