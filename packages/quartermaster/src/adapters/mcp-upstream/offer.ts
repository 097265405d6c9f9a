import type { Problem, UpstreamConfig } from '../../contracts/index.ts'
import type { DependencyDefinition, SourceUnit } from '../../core/catalogue/index.ts'
import type { Digest } from '../../core/kernel/index.ts'
import type { Verdict } from '../../core/upstreams/index.ts'
import type { UpstreamCalls } from './upstream-calls.ts'
import { capabilityOf } from './upstream-definitions.ts'

type Unit = Extract<SourceUnit, { readonly hash: string }>

/** What an upstream brings now, by what was seen of it and decided about it. */
export interface Offer {
  unit(): Unit
  /** Nothing before it was first seen. */
  verdict(): Verdict | undefined
  /** Answers whether a reload would find something new. */
  take(verdict: Verdict): boolean
  /** Another configuration says what is shown of it. */
  configured(): void
}

export interface OfferDeps {
  readonly name: string
  readonly digest: Digest
  readonly dependency: DependencyDefinition
  readonly calls: UpstreamCalls
  config(): UpstreamConfig
  watch(uri: string, onUpdated: () => void): () => void
}

export function createOffer(deps: OfferDeps): Offer {
  let verdict: Verdict | undefined
  let made: Unit | undefined

  function unit(): Unit {
    made ??= build(verdict, deps)
    return made
  }

  return {
    unit,
    verdict: () => verdict,
    take(next) {
      const before = unit().hash
      verdict = next
      made = undefined
      return unit().hash !== before
    },
    configured() {
      made = undefined
    },
  }
}

function build(verdict: Verdict | undefined, deps: OfferDeps): Unit {
  const { name, digest, dependency, calls, watch } = deps
  const config = deps.config()
  const { offered = [], held = [] } = verdict ?? {}
  const unseen = unseenReason(name, config, verdict)
  const withheld = held.filter(one => one.kind === 'tool')
  const parts = { upstream: name, config, offered, withheld, unseen, dependency, calls, digest, watch }
  const { capability, problems: found } = capabilityOf(parts)
  const problems = [...(verdict?.problems ?? []), ...found, ...heldProblems(name, held)]
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

function unseenReason(name: string, { enabled }: UpstreamConfig, verdict: Verdict | undefined): string | undefined {
  if (!enabled)
    return `It is not used: its entry is switched off or wrong. \`quartermaster upstreams show ${name}\` says more.`
  return verdict ? undefined : 'It has not been reached yet, so nobody knows what it has.'
}

/** What waits for a person should not wait unnoticed. */
function heldProblems(name: string, held: Verdict['held']): Problem[] {
  if (held.length === 0) return []
  const what = held.length === 1 ? `"${held[0]?.name}" is` : `${held.length} definitions are`
  const mend = `Look at what waits: quartermaster upstreams review ${name}`
  return [
    { severity: 'warning', code: 'DEFINITION_INVALID', where: `upstream:${name}`, message: `${what} held back.`, mend },
  ]
}
