import { IDEMPOTENCY_META } from '../../../contracts/index.ts'
import { shortened } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { BehindDesk } from './behind-desk.ts'
import type { Line } from './line.ts'
import { logText, toLogLevel } from './log-line.ts'
import { RpcError } from './rpc-error.ts'
import type { AskOptions, ListKind, Session, SessionEvents, SessionFacts } from './session.ts'
import { LIST_CHANGED } from './wire-names.ts'

/** The methods that list. */
export const LIST_METHODS: Readonly<Record<ListKind, string>> = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  templates: 'resources/templates/list',
}

/** What a server calls itself is shown wherever it is spoken of, and kept. */
export const LONGEST_SERVER_NAME = 256

/** What a server says of itself in its first answer. */
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

/** What one request says of itself in its `_meta`, if anything. Nothing of a client's own `_meta` is ever in it. */
export function ownMeta({ trace, idempotencyKey }: Pick<AskOptions, 'trace' | 'idempotencyKey'>): Params | undefined {
  if (idempotencyKey === undefined) return trace && { ...trace }
  return { ...trace, [IDEMPOTENCY_META]: idempotencyKey }
}

/** What a session is made of. */
export interface SessionBasis {
  readonly line: Line
  readonly desk: BehindDesk
  readonly facts: SessionFacts
  /** Asks the server for next to nothing. */
  probe(signal: AbortSignal): Promise<unknown>
}

type EitherEra = Omit<Session, 'page' | 'ask' | 'watch' | 'listeningSince' | 'close'>

/** What is the same in a session of either era. */
export function sessionOver({ line, desk, facts, probe }: SessionBasis): EitherEra {
  return {
    facts,
    async ping(signal) {
      await probe(signal).catch(error => {
        // A server that says no is there.
        if (!(error instanceof RpcError)) throw error
      })
    },
    async hold(work) {
      const answered = desk.asked()
      try {
        // Nobody's: the server is done with what was asked of it, and means nobody by what it asks meanwhile.
        return await desk.attendOwn(onAnswer => {
          onAnswer()
          return work()
        })
      } finally {
        answered()
      }
    },
    pids: () => line.channel.pids(),
    busy: desk.busy,
    workingSince: desk.workingSince,
    givenMs: desk.givenMs,
    isAtRest: desk.isAtRest,
    owedAt: desk.owedAt,
    usedAt: desk.usedAt,
    heardAt: line.heardAt,
    ended: line.ended,
  }
}

/** Takes what a server tells on its own account: changes, and lines of its log. */
export function takeNotice(
  method: string,
  params: Params,
  { desk, events }: { desk: BehindDesk; events: SessionEvents },
) {
  const changed = LIST_CHANGED.get(method)
  if (changed) return events.onListChanged(changed)
  if (method === 'notifications/resources/updated' && typeof params.uri === 'string')
    return events.onResourceUpdated(params.uri)
  if (method !== 'notifications/message') return
  const level = toLogLevel(params.level)
  const text = logText(params.data)
  events.onLog(level, text)
  // Whose it is nobody says; with one request under way there is no doubt.
  const meant = desk.meant()
  if (meant !== 'several') meant[0]?.behind.log(level, text)
}
