import { plainLine, RemoteFailure, type RemoteTrouble } from '../../core/external-peers/index.ts'
import { type HttpAnswer, headerOf } from '../http-client/index.ts'

/** What the specification has a code for (A2A 1.0 §5.4), and JSON-RPC. All others are refusals. */
const BY_CODE: Readonly<Record<number, RemoteTrouble>> = {
  [-32_001]: 'unknownTask',
  [-32_002]: 'refused',
  [-32_004]: 'unsupported',
  [-32_601]: 'unsupported',
  [-32_603]: 'broken',
}

const BY_REASON: Readonly<Record<string, RemoteTrouble>> = {
  TASK_NOT_FOUND: 'unknownTask',
  UNSUPPORTED_OPERATION: 'unsupported',
}

/** What is shown of its words. */
const MOST_SAID = 300

export interface SaidError {
  readonly code?: number | undefined
  readonly message?: string | undefined
  /** By the name of the specification, where it says one. */
  readonly reason?: string | undefined
}

/** An error that was said in the protocol itself. */
export function saidFailure({ code, message, reason }: SaidError): RemoteFailure {
  const trouble =
    (reason === undefined ? undefined : BY_REASON[reason]) ?? (code === undefined ? undefined : BY_CODE[code])
  return new RemoteFailure(trouble ?? 'refused', `It says: ${plainLine(message ?? '', MOST_SAID) || 'nothing more'}`)
}

/** An answer that is no answer of the protocol. */
export function httpFailure(answer: HttpAnswer, said: SaidError | undefined): RemoteFailure {
  const { status } = answer
  if (status === 401 || status === 403)
    return new RemoteFailure('unauthorized', `It does not let us in (HTTP ${status}).`)
  if (status === 429 || status === 503)
    return new RemoteFailure('busy', `It is busy (HTTP ${status}).`, { retryAfterMs: secondsOf(answer) })
  if (status >= 300 && status < 400)
    return new RemoteFailure('unfit', 'It sends us elsewhere, which is not followed. Add the peer by that address.')
  if (said?.reason !== undefined || (said?.code !== undefined && said.code < 0)) return saidFailure(said)
  if (status >= 500) return new RemoteFailure('broken', `It failed (HTTP ${status}).`)
  if (status === 404 || status === 405 || status === 501)
    return new RemoteFailure('unsupported', `There is nothing at this address (HTTP ${status}).`)
  const words = said?.message === undefined ? '' : ` It says: ${plainLine(said.message, MOST_SAID)}`
  return new RemoteFailure('refused', `It refused the request (HTTP ${status}).${words}`)
}

function secondsOf(answer: HttpAnswer): number | undefined {
  const seconds = Number(headerOf(answer, 'retry-after'))
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined
}
