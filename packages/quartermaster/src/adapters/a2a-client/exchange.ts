import { z } from 'zod'
import { messageOf } from '../../contracts/index.ts'
import {
  type CardPlace,
  plainLine,
  RemoteFailure,
  type RemoteTrouble,
  type SeenCard,
} from '../../core/external-peers/index.ts'
import type { CancelSignal, Clock } from '../../core/kernel/index.ts'
import {
  AddressRefused,
  createHttpClient,
  guardedLookup,
  type HttpAnswer,
  HttpFailure,
  headerOf,
  namedHosts,
  type Resolve,
  refuseInside,
  refuseUnsafe,
} from '../http-client/index.ts'

interface RequestOptions {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly body?: unknown
  readonly accept: string
  readonly signal: CancelSignal
  /** The time limit of the answer's headers. */
  readonly answerMs: number
}

export interface ExchangeOptions {
  readonly clock: Clock
  /** Resolves host names. */
  readonly resolve?: Resolve | undefined
}

/**
 * Sends requests to public addresses and to hosts that the owner named, without following redirects. The owner chose the card's
 * address; the addresses inside a card come from a stranger, so they must not reach into this network.
 */
export function createExchange({ clock, resolve }: ExchangeOptions) {
  const free = createHttpClient({ clock, useProxy: true })
  const guarded = createHttpClient({ clock, lookup: guardedLookup(resolve) })

  const clientFor = (place: CardPlace, url: URL) => (reachable(place, url) ? free : guarded)

  return {
    /** Rejects with a `RemoteFailure` when there is no answer. The body is not read yet. */
    async ask(place: CardPlace, { method, url, body, accept, signal, answerMs }: RequestOptions): Promise<HttpAnswer> {
      try {
        return await clientFor(place, url).send({
          method,
          url,
          headers: {
            accept,
            'user-agent': 'quartermaster',
            'a2a-version': '1.0',
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...(place.credential && { [place.credential.header.toLowerCase()]: place.credential.value }),
          },
          body: body === undefined ? undefined : JSON.stringify(body),
          signal,
          answerMs,
        })
      } catch (error) {
        throw unreached(error)
      }
    },
    close() {
      free.close()
      guarded.close()
    },
  }
}

/** Whether the owner named this host. Throws `RemoteFailure` for a forbidden address. */
function reachable({ cardUrl, hosts }: CardPlace, url: URL): boolean {
  const home = new URL(cardUrl)
  const isNamed = namedHosts(home, hosts)
  try {
    refuseUnsafe(url, { home, isNamed })
    if (!isNamed(url)) refuseInside(url.hostname)
  } catch (error) {
    throw unreached(error)
  }
  return isNamed(url)
}

function unreached(error: unknown): RemoteFailure {
  if (error instanceof RemoteFailure) return error
  const cause = error instanceof HttpFailure && error.cause instanceof AddressRefused ? error.cause : error
  if (cause instanceof AddressRefused) {
    const message = `${cause.message} If it is the right one, name its host with "hosts" when the peer is added.`
    return new RemoteFailure('unfit', message, { cause })
  }
  return new RemoteFailure(cause instanceof HttpFailure ? 'unreachable' : 'unfit', messageOf(cause), { cause })
}

/** Codes of A2A 1.0 §5.4 and of JSON-RPC. All others count as refusals. */
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

/** The longest quote of a foreign message. */
const MOST_SAID = 300

export interface ProtocolFault {
  readonly code?: number | undefined
  readonly message?: string | undefined
  /** The name of the error in the specification, if given. */
  readonly reason?: string | undefined
}

/** An error of the protocol. */
export function protocolFailure({ code, message, reason }: ProtocolFault): RemoteFailure {
  const trouble =
    (reason === undefined ? undefined : BY_REASON[reason]) ?? (code === undefined ? undefined : BY_CODE[code])
  return new RemoteFailure(trouble ?? 'refused', `It says: ${plainLine(message ?? '', MOST_SAID) || 'nothing more'}`)
}

/** An HTTP answer that is no answer of the protocol. */
export function httpFailure(answer: HttpAnswer, said: ProtocolFault | undefined): RemoteFailure {
  const { status } = answer
  if (status === 401 || status === 403)
    return new RemoteFailure('unauthorized', `It rejects our credentials (HTTP ${status}).`)
  if (status === 429 || status === 503)
    return new RemoteFailure('busy', `It is busy (HTTP ${status}).`, { retryAfterMs: secondsOf(answer) })
  if (status >= 300 && status < 400)
    return new RemoteFailure(
      'unfit',
      'It redirects, which is not followed. Add the peer with the address it redirects to.',
    )
  if (said?.reason !== undefined || (said?.code !== undefined && said.code < 0)) return protocolFailure(said)
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

const Text = z.string().nullish()

const Interface = z.object({
  url: z.url({ protocol: /^https?$/ }).max(2_048),
  protocolBinding: z.string(),
  protocolVersion: z.string(),
  tenant: z.string().max(256).nullish(),
})

/** The fields of a card that are used. A card of 0.3 has its own `protocolVersion`. */
const Card = z.object({
  supportedInterfaces: z.array(z.unknown()).nullish(),
  protocolVersion: Text,
  capabilities: z.object({ streaming: z.boolean().nullish(), extensions: z.array(z.unknown()).nullish() }).nullish(),
  description: Text,
  version: Text,
  skills: z.array(z.unknown()).nullish(),
})
const Skill = z.object({ id: z.string(), name: Text, description: Text, tags: z.array(z.unknown()).nullish() })
const Extension = z.object({ uri: z.string(), required: z.literal(true) })

/** Supported bindings, preferred first. */
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const
const VERSION = /^1(\.\d+)?$/
const MOST_SKILLS = 200

/** Validates an agent card. Throws `RemoteFailure` for one that cannot be used, and says why. */
export function parseCard(value: unknown, place: CardPlace): SeenCard {
  const card = Card.safeParse(value)
  if (!card.success) throw unfit('There is no agent card at this address.')
  const { supportedInterfaces, protocolVersion, capabilities, description, version, skills } = card.data
  const all = (supportedInterfaces ?? []).flatMap(one => Interface.safeParse(one).data ?? [])
  if (all.length === 0 && protocolVersion) throw unfit('The card is of an older A2A version. Version 1.0 is supported.')
  if (all.length === 0) throw unfit('The card has no interface with an http: or https: address.')
  const current = all.filter(one => VERSION.test(one.protocolVersion))
  if (current.length === 0) throw unfit(`It speaks A2A ${versionsIn(all)} only. Version 1.0 is supported.`)
  const chosen = BINDINGS.flatMap(binding => current.find(one => one.protocolBinding === binding) ?? [])[0]
  if (!chosen) throw unfit(`It speaks ${bindingsIn(current)} only. Supported are ${BINDINGS.join(' and ')}.`)
  refuseExtensions(capabilities?.extensions ?? [])
  reachable(place, new URL(chosen.url))
  return {
    url: chosen.url,
    binding: chosen.protocolBinding as SeenCard['binding'],
    tenant: chosen.tenant || null,
    streaming: capabilities?.streaming === true,
    facts: {
      description: description ?? undefined,
      version: version ?? undefined,
      skills: (skills ?? []).slice(0, MOST_SKILLS).flatMap(one => {
        const { id, name, description, tags } = Skill.safeParse(one).data ?? {}
        const words = (tags ?? []).filter(tag => typeof tag === 'string')
        return id === undefined ? [] : [{ id, name: name ?? '', description: description ?? '', tags: words }]
      }),
    },
  }
}

/** Such an agent would reject every request (§3.2.6). */
function refuseExtensions(extensions: readonly unknown[]): void {
  const needed = extensions.flatMap(one => Extension.safeParse(one).data?.uri ?? [])
  if (needed.length > 0) throw unfit(`It requires the extension ${shown(needed)}, which is not supported.`)
}

function unfit(message: string): RemoteFailure {
  return new RemoteFailure('unfit', message)
}

const versionsIn = (all: readonly z.infer<typeof Interface>[]) => shown(all.map(one => one.protocolVersion))
const bindingsIn = (all: readonly z.infer<typeof Interface>[]) => shown(all.map(one => one.protocolBinding))

/** Quotes a few foreign words. */
function shown(words: readonly string[]): string {
  return [...new Set(words)]
    .slice(0, 5)
    .map(word => JSON.stringify(word.slice(0, 100)))
    .join(', ')
}
