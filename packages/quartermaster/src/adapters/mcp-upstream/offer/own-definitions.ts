import { AppError, type PinKind, type UpstreamStatus } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, type Digest, inTurns } from '../../../core/kernel/index.ts'
import { excerptOf, type Listing, type ReviewedListing, readListing } from '../../../core/upstreams/index.ts'
import { beforeAbort, withTimeLimit } from '../peer/abort.ts'
import { fetchListing } from '../peer/fetch-listing.ts'
import type { Session } from '../peer/session.ts'

/** Compares the definitions that a connection shows with the accepted ones. */
export interface OwnDefinitions {
  /** The accepted definitions were decided by this listing of the main connection. Answers whether none is missing. */
  onMainListed(session: Session, listing: Listing): Promise<boolean>
  /** Lists the session and answers whether all definitions are as accepted. `agent`: whose own connection it is. */
  compare(session: Session, signal: AbortSignal, agent?: string): Promise<boolean>
  /**
   * Throws `TOOL_DISABLED` for a definition that is no longer accepted, that this connection shows differently, or
   * that it may: one missing from an absent or incomplete list. Of resources only for held-back ones: they are data,
   * and may differ. Synchronous where all is well.
   */
  check(session: Session, wanted: Wanted): Promise<void> | undefined
  forget(agent: string): void
  /** Agents whose definitions last differed from the accepted ones, with some of those. */
  differing(): Differing[]
}

type Differing = NonNullable<UpstreamStatus['differing']>[number]

const MOST_AGENTS = 64
const MOST_NAMED = 5
/** Calls have a connection that listed incompletely, or could not be listed, listed again no more often than this. */
const RELIST_AFTER_MS = 10_000

export interface Wanted {
  readonly kind: Exclude<PinKind, 'server'>
  readonly name: string
  readonly signal: CancelSignal
}

interface OwnDefinitionsDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly digest: Digest
  listMs(): number
  verdict(): ReviewedListing | undefined
}

type Hashes = ReadonlyMap<string, string>

/** A session's listing, and the decisions of that time. */
interface Shown {
  readonly hashes: Hashes
  readonly whole: ReadonlySet<string>
  readonly asOf: ReviewedListing | undefined
  readonly at: number
  readonly failedAt?: number
}

/** A server may show one agent other definitions than the reviewed ones. Those are not used. */
export function createOwnDefinitions({ upstream, clock, digest, listMs, verdict }: OwnDefinitionsDeps): OwnDefinitions {
  const shown = new WeakMap<Session, Shown>()
  const relisting = new WeakMap<Session, Promise<unknown>>()
  const agents = new WeakMap<Session, string>()
  /** The last listing for each agent, also after its connection closed. */
  const lastShown = new Map<string, Hashes>()
  const acceptedNow = createAccepted(verdict)

  async function look(session: Session, signal: AbortSignal): Promise<void> {
    const asOf = verdict()
    await keep(session, await fetchListing(session, signal), asOf)
  }

  async function keep(session: Session, listing: Listing, asOf: ReviewedListing | undefined): Promise<void> {
    const { definitions, kinds, problems } = await inTurns(readListing(upstream, listing, { digest }), clock)
    const hashes = hashesOf(definitions)
    const whole = problems.length === 0 ? kinds : new Set<string>()
    shown.set(session, { hashes, whole, asOf, at: clock.now() })
    const agent = agents.get(session)
    if (agent !== undefined) remember(agent, hashes)
  }

  function remember(agent: string, hashes: Hashes): void {
    lastShown.delete(agent)
    lastShown.set(agent, hashes)
    for (const oldest of lastShown.keys()) if (lastShown.size > MOST_AGENTS) lastShown.delete(oldest)
  }

  function isAsAccepted(session: Session): boolean {
    const { hashes } = shown.get(session) ?? {}
    return hashes === undefined || [...hashes.keys(), ...acceptedNow().keys()].every(key => !differs(session, key))
  }

  function differs(session: Session, key: string): boolean {
    const accepted = acceptedNow().get(key)
    const hash = shown.get(session)?.hashes.get(key)
    return hash === undefined ? accepted !== undefined && isUnlisted(session, key) : accepted !== hash
  }

  /** The definition may exist all the same, and be anything. */
  function isUnlisted(session: Session, key: string): boolean {
    const seen = shown.get(session)
    return seen !== undefined && !seen.hashes.has(key) && !seen.whole.has(kindOf(key))
  }

  /** A caller that waited for the server to start was admitted by what was known before the new listing. */
  function isWithdrawn(key: string): boolean {
    return verdict() !== undefined && !acceptedNow().has(key)
  }

  function withdrawn({ kind, name }: Wanted): AppError {
    if (isHeld(verdict(), kind, name)) return heldBack({ upstream, kind, name, waits: true })
    const message = `The ${kind} "${name}" of "${upstream}" is not offered any more. See: quartermaster upstreams show ${upstream}`
    return new AppError('TOOL_DISABLED', message)
  }

  /** Whether a new listing may show something else: decisions were made since, or the last one was incomplete. */
  function isRelistDue(session: Session, key: string): boolean {
    const { asOf, at = 0, failedAt } = shown.get(session) ?? {}
    const isLongAgo = (then: number) => clock.now() - then >= RELIST_AFTER_MS
    if (failedAt !== undefined) return isLongAgo(failedAt)
    return asOf !== verdict() || (isUnlisted(session, key) && isLongAgo(at))
  }

  /** A server that does not notify may show the accepted definition by now. Once for each decision. */
  function relist(session: Session, key: string): Promise<unknown> {
    if (!isRelistDue(session, key)) return Promise.resolve()
    const known =
      relisting.get(session) ??
      withTimeLimit(listMs(), { clock, reason: 'It took too long.' }, signal => look(session, signal))
        // After a failed listing the difference stays, and not every caller checks it in turn.
        .catch(() => postpone(session))
        .finally(() => relisting.delete(session))
    relisting.set(session, known)
    return known
  }

  function postpone(session: Session): void {
    const seen = shown.get(session)
    if (seen) shown.set(session, { ...seen, failedAt: clock.now() })
  }

  async function checkAgain(session: Session, { kind, name, signal }: Wanted): Promise<void> {
    const key = keyOf({ kind, name })
    await beforeAbort(relist(session, key), signal)
    if (!differs(session, key)) return
    throw isUnlisted(session, key)
      ? unlisted({ upstream, kind, name })
      : heldBack({ upstream, kind, name, waits: isHeld(verdict(), kind, name) })
  }

  return {
    // The decisions are about this very listing, so only missing definitions have to be compared.
    async onMainListed(session, listing) {
      if (isWhole(listing)) shown.delete(session)
      else await keep(session, listing, verdict())
      return isAsAccepted(session)
    },
    async compare(session, signal, agent) {
      if (agent !== undefined) agents.set(session, agent)
      await look(session, signal)
      return isAsAccepted(session)
    },
    check(session, wanted) {
      const { kind, name } = wanted
      if (kind === 'resource') return isHeld(verdict(), kind, name) ? Promise.reject(withdrawn(wanted)) : undefined
      const key = keyOf(wanted)
      if (differs(session, key)) return checkAgain(session, wanted)
      return isWithdrawn(key) ? Promise.reject(withdrawn(wanted)) : undefined
    },
    forget: agent => void lastShown.delete(agent),
    differing() {
      const accepted = [...acceptedNow()].filter(([key]) => /^(?:tool|prompt|template) /.test(key))
      return [...lastShown].flatMap(([agent, hashes]) => {
        const strange = accepted.filter(([key, hash]) => hashes.has(key) && hashes.get(key) !== hash)
        const definitions = strange.slice(0, MOST_NAMED).map(([key]) => excerptOf(key.replace(' ', ':')))
        return definitions.length === 0 ? [] : { agent, definitions }
      })
    },
  }
}

function isWhole({ tools, prompts, resources, templates }: Listing): boolean {
  return [tools, prompts, resources, templates].every(list => list !== undefined)
}

function isHeld(verdict: ReviewedListing | undefined, kind: string, name: string): boolean {
  return verdict?.held.some(one => one.kind === kind && one.name === name) ?? false
}

interface Definition {
  readonly upstream: string
  readonly kind: string
  readonly name: string
}

function unlisted({ upstream, kind, name }: Definition): AppError {
  const message =
    `The ${kind} "${name}" of "${upstream}" is held back: its server does not list all that it has, so it is unknown ` +
    `whether it is what was accepted. Try again later, or have a person look at the server: ` +
    `quartermaster upstreams show ${upstream}`
  return new AppError('TOOL_DISABLED', message)
}

interface HeldBack extends Definition {
  readonly waits: boolean
}

function heldBack({ upstream, kind, name, waits }: HeldBack): AppError {
  const review = `quartermaster upstreams review ${upstream}`
  const start = `The ${kind} "${name}" of "${upstream}" is held back:`
  const message = waits
    ? `${start} its server now shows another definition of it. A person has to look: ${review}`
    : `${start} the server that this agent has to itself describes it otherwise than it was accepted. ` +
      `If nothing waits for review (${review}), it is another server: a person has to give it an entry of its own name.`
  return new AppError('TOOL_DISABLED', message)
}

/** The accepted definitions by kind and name, computed once per decision because every call needs them. */
function createAccepted(verdict: () => ReviewedListing | undefined): () => Hashes {
  let made: { readonly of: ReviewedListing | undefined; readonly hashes: Hashes } | undefined
  return () => {
    const now = verdict()
    if (made?.of !== now || !made) made = { of: now, hashes: hashesOf(now?.offered ?? []) }
    return made.hashes
  }
}

function keyOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${name}`
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf(' '))
}

function hashesOf(definitions: readonly { kind: string; name: string; hash: string }[]): Hashes {
  return new Map(definitions.map(one => [keyOf(one), one.hash]))
}
