import { z } from 'zod'
import { type CardPlace, RemoteFailure, type SeenCard } from '../../core/external-peers/index.ts'
import { reachable } from './exchange.ts'

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
