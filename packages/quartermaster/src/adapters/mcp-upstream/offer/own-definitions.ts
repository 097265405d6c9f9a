import { AppError, type PinKind, type UpstreamStatus } from '../../../contracts/index.ts'
import { type CancelSignal, type Clock, type Digest, inTurns } from '../../../core/kernel/index.ts'
import { excerptOf, type Listing, type ReviewedListing, readListing } from '../../../core/upstreams/index.ts'
import { withTimeLimit } from '../pausing.ts'
import { beforeAbort } from '../session/before-abort.ts'
import { fetchListing } from '../session/fetch-listing.ts'
import type { Session } from '../session/session.ts'

/** Compares what a connection shows with what was accepted. */
export interface OwnDefinitions {
  /**
   * The connection by which the server is known has listed this, and what is accepted by it is decided. Answers whether nothing
   * that is accepted is missing.
   */
  took(session: Session, listing: Listing): Promise<boolean>
  /** Answers whether all of it is as it was accepted. Whose the connection is, where it is one agent's. */
  compare(session: Session, signal: AbortSignal, agent?: string): Promise<boolean>
  /**
   * Throws `TOOL_DISABLED` for what is not accepted any more; for what this connection shows differently than it is accepted now;
   * and for what it may: what is missing in a list that it does not give, or not as a whole. Of resources only for what is held
   * back: they are data, and may differ. Nothing has to be waited for where all is as it should be.
   */
  check(session: Session, wanted: Wanted): Promise<void> | undefined
  /** Nothing is told any more of what an agent was shown. */
  forget(agent: string): void
  /** Agents to which it last showed something otherwise than it is accepted now, and some of what. */
  differing(): Differing[]
}

type Differing = NonNullable<UpstreamStatus['differing']>[number]

/** Agents of which it is remembered, and definitions of each that are named. */
const MOST_AGENTS = 64
const MOST_NAMED = 5
/** A connection that did not list everything, or could not be asked, is asked again by who needs it, no more often than this. */
const LOOK_AGAIN_MS = 10_000

/** What is about to be used. */
export interface Wanted {
  readonly kind: Exclude<PinKind, 'server'>
  readonly name: string
  readonly signal: CancelSignal
}

export interface OwnDefinitionsDeps {
  readonly upstream: string
  readonly clock: Clock
  readonly digest: Digest
  /** How long a listing may take. */
  listMs(): number
  verdict(): ReviewedListing | undefined
}

/** Hashes by kind and name. */
type Hashes = ReadonlyMap<string, string>

/** What a session showed, and what was accepted when it was asked. */
interface Shown {
  readonly hashes: Hashes
  /** Kinds of which nothing can be missing. */
  readonly whole: ReadonlySet<string>
  readonly asOf: ReviewedListing | undefined
  readonly at: number
  /** When it was to be asked again, and could not be. */
  readonly failedAt?: number
}

/** A server may show one agent something else than it showed when it was looked at. Then nothing of that is used. */
export function createOwnDefinitions({ upstream, clock, digest, listMs, verdict }: OwnDefinitionsDeps): OwnDefinitions {
  const shown = new WeakMap<Session, Shown>()
  const looks = new WeakMap<Session, Promise<unknown>>()
  const agents = new WeakMap<Session, string>()
  /** What each agent was shown last, also when its connection has been closed since. */
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
    return hashes === undefined || [...hashes.keys(), ...acceptedNow().keys()].every(key => !isStrange(session, key))
  }

  function isStrange(session: Session, key: string): boolean {
    const accepted = acceptedNow().get(key)
    const hash = shown.get(session)?.hashes.get(key)
    return hash === undefined ? accepted !== undefined && isUnlisted(session, key) : accepted !== hash
  }

  /** It may be there all the same, and be anything. */
  function isUnlisted(session: Session, key: string): boolean {
    const seen = shown.get(session)
    return seen !== undefined && !seen.hashes.has(key) && !seen.whole.has(kindOf(key))
  }

  /** Whoever waited for the server to start was let in by what was known before it was looked at again. */
  function isWithdrawn(key: string): boolean {
    return verdict() !== undefined && !acceptedNow().has(key)
  }

  function withdrawn({ kind, name }: Wanted): AppError {
    if (isHeld(verdict(), kind, name)) return heldBack({ upstream, kind, name, waits: true })
    const message = `The ${kind} "${name}" of "${upstream}" is not offered any more. See: quartermaster upstreams show ${upstream}`
    return new AppError('TOOL_DISABLED', message)
  }

  /** What a look now may find otherwise: it was decided about since, or did not show everything. */
  function isWorthALook(session: Session, key: string): boolean {
    const { asOf, at = 0, failedAt } = shown.get(session) ?? {}
    const isLongAgo = (then: number) => clock.now() - then >= LOOK_AGAIN_MS
    if (failedAt !== undefined) return isLongAgo(failedAt)
    return asOf !== verdict() || (isUnlisted(session, key) && isLongAgo(at))
  }

  /** Whoever tells of no change may show by now what a person has accepted. Once for each verdict. */
  function lookAgain(session: Session, key: string): Promise<unknown> {
    if (!isWorthALook(session, key)) return Promise.resolve()
    const known =
      looks.get(session) ??
      withTimeLimit(listMs(), { clock, reason: 'It took too long.' }, signal => look(session, signal))
        // What could not be looked at stays as strange as it is, and is not looked at by everybody in turn.
        .catch(() => postpone(session))
        .finally(() => looks.delete(session))
    looks.set(session, known)
    return known
  }

  function postpone(session: Session): void {
    const seen = shown.get(session)
    if (seen) shown.set(session, { ...seen, failedAt: clock.now() })
  }

  async function checkAgain(session: Session, { kind, name, signal }: Wanted): Promise<void> {
    const key = keyOf({ kind, name })
    await beforeAbort(lookAgain(session, key), signal)
    if (!isStrange(session, key)) return
    throw isUnlisted(session, key)
      ? unlisted({ upstream, kind, name })
      : heldBack({ upstream, kind, name, waits: isHeld(verdict(), kind, name) })
  }

  return {
    // What it lists is what the verdict is about, and need not be compared with it. What it does not list is not.
    async took(session, listing) {
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
      if (isStrange(session, key)) return checkAgain(session, wanted)
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
    `The ${kind} "${name}" of "${upstream}" is held back: its server does not list all that it has, so nobody can tell ` +
    `whether it is what was accepted. Try again later, or have a person look at the server: ` +
    `quartermaster upstreams show ${upstream}`
  return new AppError('TOOL_DISABLED', message)
}

interface HeldBack extends Definition {
  /** Everybody is shown another definition of it. */
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

/** What is accepted, by kind and name. Made once for every verdict, because every call asks. */
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
