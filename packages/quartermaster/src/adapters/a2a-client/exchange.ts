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

/** One request to an agent elsewhere. */
interface Asked {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly body?: unknown
  readonly accept: string
  readonly signal: CancelSignal
  /** How long the first line of the answer may take. */
  readonly answerMs: number
}

interface Exchange {
  /** Rejects with a `RemoteFailure` when there is no answer. The body is not yet read. */
  ask(place: CardPlace, asked: Asked): Promise<HttpAnswer>
  close(): void
}

export interface ExchangeOptions {
  readonly clock: Clock
  /** How names become addresses. */
  readonly resolve?: Resolve | undefined
}

/**
 * Reaches what the owner has named, and public addresses; nothing else inside this network, and no redirect. The address of a card
 * is the owner's word, and what the card says of where to go on is a stranger's.
 */
export function createExchange({ clock, resolve }: ExchangeOptions): Exchange {
  const free = createHttpClient({ clock, useProxy: true })
  const guarded = createHttpClient({ clock, lookup: guardedLookup(resolve) })

  function clientFor(place: CardPlace, url: URL) {
    const isNamed = reachable(place, url)
    return isNamed ? free : guarded
  }

  return {
    async ask(place, { method, url, body, accept, signal, answerMs }) {
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

/** Whether the owner has named this address. Throws `RemoteFailure` for one that may not be gone to. */
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

const Text = z.string().nullish()

const Interface = z.object({
  url: z.url({ protocol: /^https?$/ }).max(2_048),
  protocolBinding: z.string(),
  protocolVersion: z.string(),
  tenant: z.string().max(256).nullish(),
})

/** As much of a card as we go by. One of 0.3 has a `protocolVersion` of its own. */
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

/** The one that is spoken where there are several: the others say nothing more. */
const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const
const VERSION = /^1(\.\d+)?$/
const MOST_SKILLS = 200

/** What counts of a card. Throws `RemoteFailure` for one that we cannot do anything with, and says why. */
export function parseCard(value: unknown, place: CardPlace): SeenCard {
  const card = Card.safeParse(value)
  if (!card.success) throw unfit('What is there is no agent card.')
  const { supportedInterfaces, protocolVersion, capabilities, description, version, skills } = card.data
  const all = (supportedInterfaces ?? []).flatMap(one => Interface.safeParse(one).data ?? [])
  if (all.length === 0 && protocolVersion) throw unfit('It is a card of an older A2A. We speak version 1.0.')
  if (all.length === 0) throw unfit('It names no interface that is reached by http: or https:.')
  const current = all.filter(one => VERSION.test(one.protocolVersion))
  if (current.length === 0) throw unfit(`It speaks A2A ${versionsIn(all)} only. We speak version 1.0.`)
  const chosen = BINDINGS.flatMap(binding => current.find(one => one.protocolBinding === binding) ?? [])[0]
  if (!chosen) throw unfit(`It speaks ${bindingsIn(current)} only. We speak ${BINDINGS.join(' and ')}.`)
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

/** It would refuse everything that we send (§3.2.6). */
function refuseExtensions(extensions: readonly unknown[]): void {
  const needed = extensions.flatMap(one => Extension.safeParse(one).data?.uri ?? [])
  if (needed.length > 0) throw unfit(`It wants the extension ${shown(needed)}, which we do not speak.`)
}

function unfit(message: string): RemoteFailure {
  return new RemoteFailure('unfit', message)
}

const versionsIn = (all: readonly z.infer<typeof Interface>[]) => shown(all.map(one => one.protocolVersion))
const bindingsIn = (all: readonly z.infer<typeof Interface>[]) => shown(all.map(one => one.protocolBinding))

/** A few words of a stranger. */
function shown(words: readonly string[]): string {
  return [...new Set(words)]
    .slice(0, 5)
    .map(word => JSON.stringify(word.slice(0, 100)))
    .join(', ')
}
