/** What one stream asks for. */
export interface Asked {
  readonly uris: ReadonlySet<string>
  /** Those of them of which nobody knows whether the server takes them. */
  readonly tried: readonly string[]
}

/** Why a server refused a stream, and which of the addresses it means, if it says so. */
export interface AddressRefusal {
  readonly reason: string
  readonly uri?: string | undefined
}

/**
 * Which addresses a server is asked to tell of. It may refuse a stream for one of them, and often does not say which: then those
 * that it refused together are halved until it is clear. All others are heard of.
 */
export interface AskedAddresses {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
  /** What it takes, and some of what nobody knows of. */
  next(): Asked
  /** What it takes, and nothing else. */
  sure(): Asked
  /** Whether there are some of which nobody knows. */
  isLeft(): boolean
  /** It takes these, and tells of those that it honours, of all where it does not say. Answers which had to wait for others. */
  taken(asked: Asked, honoured: ReadonlySet<string> | undefined): readonly string[]
  refused(asked: Asked, refusal: AddressRefusal): void
}

/** To find one among a thousand takes ten. Where most are bad they are not worth as many requests as there are addresses. */
const MOST_REFUSALS = 100

const UNCLEAR = `It was refused together with others, and ${MOST_REFUSALS} tries did not show which of them is meant.`
const NOT_HONOURED = 'The server did not agree to tell of them.'

export function createAskedAddresses(onNotSubscribed: (uri: string, reason: string) => void): AskedAddresses {
  let wanted: ReadonlySet<string> = new Set()
  const taken = new Set<string>()
  const refused = new Set<string>()
  /** Those that it takes and does not tell of, which is said once. */
  const ignored = new Set<string>()
  /** Each of these was refused as a whole. Those that are in nothing yet were not asked for, or are just being. */
  let doubted: readonly (readonly string[])[] = []
  let refusals = 0

  function unknown(): readonly string[] {
    const known = new Set([...taken, ...refused, ...doubted.flat()])
    return [...wanted].filter(uri => !known.has(uri))
  }

  /** What was never asked for is likely to be good, and does not wait for what is not. */
  function tried(): readonly string[] {
    const fresh = unknown()
    return fresh.length > 0 ? fresh : (doubted[0] ?? [])
  }

  function asking(more: readonly string[]): Asked {
    const among = new Set([...taken, ...more])
    return { uris: new Set([...wanted].filter(uri => among.has(uri))), tried: more }
  }

  function doubtOnly(isDoubted: (uri: string) => boolean): void {
    doubted = doubted.map(group => group.filter(isDoubted)).filter(group => group.length > 0)
  }

  function doubtNoMore(uris: ReadonlySet<string>): void {
    doubtOnly(uri => !uris.has(uri))
  }

  function refuse(uris: readonly string[], reason: string): void {
    doubtNoMore(new Set(uris))
    for (const uri of uris) {
      taken.delete(uri)
      refused.add(uri)
      onNotSubscribed(uri, reason)
    }
  }

  /** It takes no more what it took before. What was refused along with that may have been so because of it. */
  function doubtAll(): void {
    doubted = [[...taken], [...refused], ...doubted].filter(group => group.length > 0)
    taken.clear()
    refused.clear()
    refusals = 0
  }

  function halve(group: readonly string[]): void {
    const middle = Math.ceil(group.length / 2)
    doubtNoMore(new Set(group))
    doubted = [group.slice(0, middle), group.slice(middle), ...doubted]
  }

  function noteHonoured(uri: string, isHonoured: boolean): void {
    if (isHonoured) return void ignored.delete(uri)
    if (ignored.has(uri)) return
    ignored.add(uri)
    onNotSubscribed(uri, NOT_HONOURED)
  }

  return {
    want(uris) {
      wanted = uris
      for (const known of [taken, refused, ignored]) for (const uri of known) if (!uris.has(uri)) known.delete(uri)
      doubtOnly(uri => uris.has(uri))
      if (unknown().length > 0) refusals = 0
    },
    wanted: () => wanted,
    next: () => asking(tried()),
    sure: () => asking([]),
    isLeft: () => tried().length > 0,
    taken(asked, honoured) {
      const late = doubted.flat().filter(uri => asked.uris.has(uri))
      doubtNoMore(asked.uris)
      for (const uri of asked.uris) taken.add(uri)
      for (const uri of asked.uris) noteHonoured(uri, !honoured || honoured.has(uri))
      return late
    },
    refused({ uris, tried }, { uri, reason }) {
      const isNamed = uri !== undefined && uris.has(uri) && refusals < MOST_REFUSALS
      if (!isNamed && tried.length === 0) return doubtAll()
      refusals++
      if (isNamed) refuse([uri], reason)
      else if (tried.length === 1) refuse(tried, reason)
      else halve(tried)
      if (refusals >= MOST_REFUSALS) refuse([...unknown(), ...doubted.flat()], UNCLEAR)
    },
  }
}
