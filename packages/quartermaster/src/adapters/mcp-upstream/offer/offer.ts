import type { Problem, UpstreamConfig } from '../../../contracts/index.ts'
import type { DependencyDefinition, SourceUnit } from '../../../core/catalogue/index.ts'
import { atOnce, type Clock, type Digest, inTurns, type Steps } from '../../../core/kernel/index.ts'
import { excerptOf, isWaiting, type Verdict, wantsTool } from '../../../core/upstreams/index.ts'
import type { UpstreamCalls } from './upstream-calls.ts'
import { capabilityOf } from './upstream-definitions.ts'

type Unit = Extract<SourceUnit, { readonly hash: string }>

/** What an upstream brings now, by what was seen of it and decided about it. */
export interface Offer {
  unit(): Unit
  /** Nothing before it was first seen. */
  verdict(): Verdict | undefined
  /** Answers whether a reload would find something new. */
  take(verdict: Verdict): Promise<boolean>
  /** Another configuration says what is shown of it. */
  configured(): void
}

export interface OfferDeps {
  readonly name: string
  readonly digest: Digest
  readonly clock: Pick<Clock, 'now' | 'breathe'>
  readonly dependency: DependencyDefinition
  readonly calls: UpstreamCalls
  config(): UpstreamConfig
  watch(uri: string, onUpdated: () => void): () => void
}

export function createOffer(deps: OfferDeps): Offer {
  let verdict: Verdict | undefined
  let made: Unit | undefined
  /** Grows with whatever makes what is being built the wrong one. */
  let changes = 0

  function unit(): Unit {
    made ??= atOnce(build(verdict, deps))
    return made
  }

  return {
    unit,
    verdict: () => verdict,
    async take(next) {
      const before = unit().hash
      verdict = next
      const change = ++changes
      // Until it is built, what was offered before is offered still.
      const built = await inTurns(build(next, deps), deps.clock)
      if (change === changes) made = built
      return unit().hash !== before
    },
    configured() {
      changes++
      made = undefined
    },
  }
}

function* build(verdict: Verdict | undefined, deps: OfferDeps): Steps<Unit> {
  const { name, digest, dependency, calls, watch } = deps
  const config = deps.config()
  // Of one that is switched off nothing is offered, whatever is known of it.
  const known = config.enabled ? verdict : undefined
  const { offered = [], held: all = [], problems: told = [] } = known ?? {}
  const held = all.filter(one => isWanted(one, config))
  const unseen = unseenReason(name, config, verdict)
  const withheld = all.filter(one => one.kind === 'tool')
  const parts = { upstream: name, config, offered, withheld, unseen, dependency, calls, digest, watch }
  const { capability, problems: found } = yield* capabilityOf(parts)
  // Whoever has left a tool out has been told.
  const leftOut = new Set(offered.filter(one => !isWanted(one, config)).map(one => `tool:${excerptOf(one.name)}`))
  const left = told.filter(({ subject }) => subject === undefined || !leftOut.has(subject))
  const problems = [...left, ...found, ...heldProblems(name, held.filter(isWaiting))]
  // In whatever order it is listed.
  const offeredNow = offered.map(one => `${one.kind} ${one.name} ${one.hash}`).toSorted()
  const heldNow = held.map(one => `${one.kind} ${one.name} ${one.reason}`).toSorted()
  return {
    id: `upstream:${name}`,
    hash: digest(JSON.stringify([config, offeredNow, heldNow, problems, unseen])),
    definitions: { capabilities: [capability], dependencies: [], injections: [] },
    problems,
  }
}

function isWanted(
  { kind, name }: Verdict['held'][number] | Verdict['offered'][number],
  config: UpstreamConfig,
): boolean {
  if (kind === 'tool') return wantsTool(config, name)
  if (kind === 'prompt') return config.prompts
  return kind === 'server' || config.resources
}

function unseenReason(
  name: string,
  { enabled, wrong }: UpstreamConfig,
  verdict: Verdict | undefined,
): string | undefined {
  if (wrong !== undefined) return wrong
  if (!enabled) return `Its entry is switched off. \`quartermaster upstreams show ${name}\` says more.`
  return verdict ? undefined : 'It has not been reached yet, so nobody knows what it has.'
}

/** What waits for a person should not wait unnoticed. */
function heldProblems(name: string, held: Verdict['held']): Problem[] {
  if (held.length === 0) return []
  const [first] = held
  const what =
    first && held.length === 1 ? `The ${first.kind} "${excerptOf(first.name)}"` : `${held.length} definitions`
  const message = `${what} of "${name}" ${held.length === 1 ? 'is' : 'are'} held back.`
  const mend = `Look at what waits: quartermaster upstreams review ${name}`
  return [{ severity: 'warning', code: 'DEFINITION_INVALID', where: `upstream:${name}`, message, mend }]
}
