import { IDEMPOTENCY_META } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { shortened } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { pause } from './abort.ts'
import { LIST_CHANGED, RpcError, SendFailure } from './channel.ts'
import type { RpcChannel } from './peer.ts'
import type { RequestAttribution } from './request-attribution.ts'
import {
  type AskOptions,
  type ListKind,
  logText,
  type Session,
  type SessionEvents,
  type SessionFacts,
  toLogLevel,
} from './session.ts'

export const LIST_METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  templates: 'resources/templates/list',
}

/** A server's name is shown and stored. */
export const LONGEST_SERVER_NAME = 256

export function serverOf(info: unknown): SessionFacts['server'] {
  const { name, version, title } = isRecord(info) ? info : {}
  return {
    name: typeof name === 'string' ? shortened(name, LONGEST_SERVER_NAME) : 'unnamed',
    version: typeof version === 'string' ? shortened(version, LONGEST_SERVER_NAME) : '',
    ...(typeof title === 'string' ? { title: shortened(title, LONGEST_SERVER_NAME) } : {}),
  }
}

export function instructionsOf({ instructions }: Params): string | undefined {
  return typeof instructions === 'string' && instructions !== '' ? instructions : undefined
}

export function capabilitiesOf({ capabilities }: Params): Params {
  return isRecord(capabilities) ? capabilities : {}
}

/** The request's own `_meta`, if any. Never a client's `_meta`. */
export function ownMeta({ trace, idempotencyKey }: Pick<AskOptions, 'trace' | 'idempotencyKey'>): Params | undefined {
  if (idempotencyKey === undefined) return trace && { ...trace }
  return { ...trace, [IDEMPOTENCY_META]: idempotencyKey }
}

interface SessionBasis {
  readonly rpc: RpcChannel
  readonly attribution: RequestAttribution
  readonly facts: SessionFacts
  probe(signal: AbortSignal): Promise<unknown>
}

type EitherEra = Omit<Session, 'page' | 'ask' | 'subscribeTo' | 'listeningSince' | 'close'>

/** What sessions of both eras have in common. */
export function sessionOver({ rpc, attribution, facts, probe }: SessionBasis): EitherEra {
  return {
    facts,
    async ping(signal) {
      await probe(signal).catch(error => {
        // A server that refuses the ping is there.
        if (!(error instanceof RpcError)) throw error
      })
    },
    async holdOpen(work) {
      const answered = attribution.questionOpened()
      try {
        // Tracked for no caller: the server is done with earlier requests, and its questions are about no caller.
        return await attribution.trackOwn(onAnswer => {
          onAnswer()
          return work()
        })
      } finally {
        answered()
      }
    },
    pids: () => rpc.channel.pids(),
    busy: attribution.busy,
    busySince: attribution.busySince,
    ownerTimeoutMs: attribution.ownerTimeoutMs,
    isIdle: attribution.isIdle,
    answerOwedAt: attribution.answerOwedAt,
    lastUsedAt: attribution.lastUsedAt,
    lastHeardAt: rpc.lastHeardAt,
    ended: rpc.ended,
  }
}

/** Handles notifications: changes, and log lines. */
export function takeNotice(
  method: string,
  params: Params,
  { attribution, events }: { attribution: RequestAttribution; events: SessionEvents },
) {
  const changed = LIST_CHANGED.get(method)
  if (changed) return events.onListChanged(changed)
  if (method === 'notifications/resources/updated' && typeof params.uri === 'string')
    return events.onResourceUpdated(params.uri)
  if (method !== 'notifications/message') return
  const level = toLogLevel(params.level)
  const text = logText(params.data)
  events.onLog(level, text)
  // A notification names no caller; with one open request it is clear.
  const meant = attribution.candidates()
  if (meant !== 'several') meant[0]?.requester.log(level, text)
}

interface Patience {
  readonly clock: Clock
  readonly signal: CancelSignal
  mayRepeat(failure: SendFailure): boolean
}

/** A server that is busy this often gets no further request. */
export const MOST_ATTEMPTS = 5
/** Shorter than a server's own timeout for a result that is not fetched. */
export const LONGEST_PAUSE_MS = 60_000

/**
 * Continues work that a server has begun: repeats this one request while the server is busy and says for how long.
 * The caller could only start all of it again.
 */
export async function requestPatiently(send: () => Promise<Params>, patience: Patience): Promise<Params> {
  const { clock, signal, mayRepeat } = patience
  for (let tries = 1; ; tries++) {
    try {
      return await send()
    } catch (error) {
      const ms = error instanceof SendFailure && mayRepeat(error) ? error.retryAfterMs : undefined
      if (ms === undefined || tries >= MOST_ATTEMPTS) throw error
      await pause(Math.min(ms, LONGEST_PAUSE_MS), { clock, signal })
      throwIfCancelled(signal)
    }
  }
}

/** The work has begun, whatever became of this request: a retry of the whole would do it twice. */
export function asBegun(failure: SendFailure): SendFailure {
  return failure.with({ wasSent: 'maybe', retryAfterMs: undefined })
}
