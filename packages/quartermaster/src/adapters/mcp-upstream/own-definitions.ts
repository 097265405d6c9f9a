import { AppError } from '../../contracts/index.ts'
import { type Clock, type Digest, inTurns } from '../../core/kernel/index.ts'
import { readListing, type Verdict } from '../../core/upstreams/index.ts'
import { fetchListing } from './session/fetch-listing.ts'
import type { Session } from './session/session.ts'

/** Compares what an agent's own connection shows with what was looked at. */
export interface OwnDefinitions {
  /** Answers whether all of it is as it was accepted. */
  compare(session: Session, signal: AbortSignal): Promise<boolean>
  /** Throws `TOOL_DISABLED` for what this connection shows differently. */
  check(session: Session, kind: 'tool' | 'prompt', name: string): void
}

export interface OwnDefinitionsDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly digest: Digest
  verdict(): Verdict | undefined
}

/** A server may show one agent something else than it showed when it was looked at. Then nothing of that is used. */
export function createOwnDefinitions({ upstream, clock, digest, verdict }: OwnDefinitionsDeps): OwnDefinitions {
  const strange = new WeakMap<Session, ReadonlySet<string>>()
  return {
    async compare(session, signal) {
      const listing = await fetchListing(session, signal)
      const { definitions } = await inTurns(readListing(upstream, listing, { digest }), clock)
      const accepted = new Map(verdict()?.offered.map(one => [`${one.kind} ${one.name}`, one.hash]))
      const others = definitions
        .map(({ kind, name, hash }) => ({ key: `${kind} ${name}`, hash }))
        .filter(({ key, hash }) => accepted.get(key) !== hash)
      strange.set(session, new Set(others.map(({ key }) => key)))
      return others.length === 0
    },
    check(session, kind, name) {
      if (!strange.get(session)?.has(`${kind} ${name}`)) return
      const message = `The ${kind} "${name}" of "${upstream}" is held back: its server now shows another definition of it.`
      throw new AppError('TOOL_DISABLED', `${message} A person has to look: quartermaster upstreams review ${upstream}`)
    },
  }
}
