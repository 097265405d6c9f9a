import { IDEMPOTENCY_META } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, throwIfCancelled } from '../../../core/kernel/index.ts'
import { shortened } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { pause } from './abort.ts'
import { RpcError, SendFailure } from './channel.ts'
import { LIST_CHANGED } from './message-limits.ts'
import type { RequestAttribution } from './request-attribution.ts'
import type { RpcChannel } from './rpc-channel.ts'
import {
  type AskOptions,
  type ListKind,
  logText,
  type Session,
  type SessionEvents,
  type SessionFacts,
  toLogLevel,
} from './session.ts'

/** The methods that list. */
export const LIST_METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  templates: 'resources/templates/list',
}

/** A server's name is shown with it and stored. */
export const LONGEST_SERVER_NAME = 256

/** What a server says about itself in its first answer. */
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

/** The request's own `_meta`, if any. Never contains a client's `_meta`. */
export function ownMeta({ trace, idempotencyKey }: Pick<AskOptions, 'trace' | 'idempotencyKey'>): Params | undefined {
  if (idempotencyKey === undefined) return trace && { ...trace }
  return { ...trace, [IDEMPOTENCY_META]: idempotencyKey }
}

/** The common parts of both eras. */
interface SessionBasis {
  readonly rpc: RpcChannel
  readonly attribution: RequestAttribution
  readonly facts: SessionFacts
  probe(signal: AbortSignal): Promise<unknown>
}

type EitherEra = Omit<Session, 'page' | 'ask' | 'watch' | 'listeningSince' | 'close'>

/** What sessions of both eras have in common. */
export function sessionOver({ rpc, attribution, facts, probe }: SessionBasis): EitherEra {
  return {
    facts,
    async ping(signal) {
      await probe(signal).catch(error => {
        // A server that refuses is there.
        if (!(error instanceof RpcError)) throw error
      })
    },
    async hold(work) {
      const answered = attribution.asked()
      try {
        // Belongs to no caller: the server is done with earlier requests, and its questions are about no caller.
        return await attribution.attendOwn(onAnswer => {
          onAnswer()
          return work()
        })
      } finally {
        answered()
      }
    },
    pids: () => rpc.channel.pids(),
    busy: attribution.busy,
    workingSince: attribution.workingSince,
    givenMs: attribution.givenMs,
    isAtRest: attribution.isAtRest,
    owedAt: attribution.owedAt,
    usedAt: attribution.usedAt,
    heardAt: rpc.heardAt,
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
  // A notification names no caller; with one request open it is clear.
  const meant = attribution.meant()
  if (meant !== 'several') meant[0]?.behind.log(level, text)
}

interface Patience {
  readonly clock: Clock
  readonly signal: CancelSignal
  /** Whether it may be sent again after this. */
  mayRepeat(failure: SendFailure): boolean
}

/** A server that is busy for more requests than this gets no more of them. */
export const MOST_ATTEMPTS = 5
/** A server's work cannot be postponed, so its result is requested again before the server's own timeout. */
export const LONGEST_PAUSE_MS = 60_000

/**
 * Continues work that a server has begun: while it is busy and says for how long, this one request is repeated. Its
 * caller could only start all of it again.
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

/** Whatever became of this request, the work has begun: a retry of the whole would do it twice. */
export function asBegun(failure: SendFailure): SendFailure {
  return failure.with({ wasSent: 'maybe', retryAfterMs: undefined })
}
