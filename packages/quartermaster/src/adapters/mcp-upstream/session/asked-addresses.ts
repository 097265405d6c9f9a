/** What one stream asks for. */
export interface Asked {
  readonly uris: ReadonlySet<string>
  /** Those of them of which nobody knows whether the server takes them. */
  readonly tried: readonly string[]
  /** Whether it has refused these before, or failed at them. */
  readonly isDoubted: boolean
}

/** No address at all, only the lists. */
const NONE: Asked = { uris: new Set(), tried: [], isDoubted: false }

/** Why a server refused a stream, and which of the addresses it means, if it says so. */
export interface AddressRefusal {
  readonly reason: string
  readonly uri?: string | undefined
  /** It may say something else in a while. */
  readonly isForNow?: boolean | undefined
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
  /** What is left of a stream without those that it may have been refused for; nothing where there was no address in it. */
  less(asked: Asked): Asked | undefined
  /** It takes these, and tells of those that it honours, of all where it does not say. */
  taken(asked: Asked, honoured?: ReadonlySet<string>): void
  refused(asked: Asked, refusal: AddressRefusal): void
  /** Whether some are to be asked for again, but not now. */
  isPutOff(): boolean
  /** It is time to ask for these. */
  resume(): void
}

/** To find one among a thousand takes ten. Where most are bad they are not worth more requests in a row. */
const MOST_REFUSALS = 100

const UNCLEAR = `It was refused together with others, and ${MOST_REFUSALS} tries did not show which of them is meant.`
const AGAIN = 'It is asked again in a while.'
const NOT_HONOURED = 'The server did not agree to tell of them.'

export function createAskedAddresses(onNotSubscribed: (uri: string, reason: string) => void): AskedAddresses {
  let wanted: ReadonlySet<string> = new Set()
  const taken = new Set<string>()
  const refused = new Set<string>()
  /** Those that it takes and does not tell of, which is said once. */
  const ignored = new Set<string>()
  /** Each of these was refused as a whole. Those that are in nothing yet were not asked for, or are just being. */
  let doubted: readonly (readonly string[])[] = []
  /** Each of these was refused for now. */
  const putOff = new Set<string>()
  /** Those of which people were told. */
  const told = new Set<string>()
  let refusals = 0

  const isSpent = () => refusals >= MOST_REFUSALS

  function unknown(): readonly string[] {
    const known = new Set([...taken, ...refused, ...putOff, ...doubted.flat()])
    return [...wanted].filter(uri => !known.has(uri))
  }

  /** What was never asked for is likely to be good, and does not wait for what is not. */
  function next(): Asked {
    if (isSpent()) return sure()
    const fresh = unknown()
    return fresh.length > 0 ? asking(fresh, false) : asking(doubted[0] ?? [], true)
  }

  const sure = () => asking([], false)

  function asking(tried: readonly string[], isDoubted: boolean): Asked {
    const among = new Set([...taken, ...tried])
    return { uris: new Set([...wanted].filter(uri => among.has(uri))), tried, isDoubted: isDoubted && tried.length > 0 }
  }

  function doubtOnly(isDoubted: (uri: string) => boolean): void {
    doubted = doubted.map(group => group.filter(isDoubted)).filter(group => group.length > 0)
  }

  function doubtNoMore(uris: ReadonlySet<string>): void {
    doubtOnly(uri => !uris.has(uri))
  }

  function refuse(uri: string, { reason, isForNow = false }: AddressRefusal): void {
    doubtNoMore(new Set([uri]))
    taken.delete(uri)
    if (!isForNow) {
      refused.add(uri)
      return onNotSubscribed(uri, reason)
    }
    putOff.add(uri)
    tellOnce(uri, reason)
  }

  function tellOnce(uri: string, reason: string): void {
    if (told.has(uri)) return
    told.add(uri)
    onNotSubscribed(uri, `${reason} ${AGAIN}`)
  }

  /** It takes no more what it took before. What was refused along with that may have been so because of it. */
  function doubtAll(): void {
    doubted = [[...taken], [...refused], ...doubted].filter(group => group.length > 0)
    taken.clear()
    refused.clear()
    refusals++
  }

  function halve(group: readonly string[]): void {
    const middle = Math.ceil(group.length / 2)
    doubtNoMore(new Set(group))
    const halves = [group.slice(0, middle), group.slice(middle)]
    doubted = [...halves.filter(half => half.length > 0), ...doubted]
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
      for (const known of [taken, refused, ignored, putOff, told])
        for (const uri of known) if (!uris.has(uri)) known.delete(uri)
      doubtOnly(uri => uris.has(uri))
      if (unknown().length > 0) refusals = 0
    },
    wanted: () => wanted,
    next,
    sure,
    less({ uris, tried }) {
      if (tried.length > 0) return sure()
      return uris.size > 0 ? NONE : undefined
    },
    taken(asked, honoured) {
      // Some may not be wanted any more.
      const uris = [...asked.uris].filter(uri => wanted.has(uri))
      doubtNoMore(asked.uris)
      for (const uri of uris) {
        taken.add(uri)
        told.delete(uri)
        noteHonoured(uri, !honoured || honoured.has(uri))
      }
    },
    refused({ uris, tried }, refusal) {
      const { uri = '' } = refusal
      const isNamed = uris.has(uri) && !isSpent()
      if (!isNamed && tried.length === 0) return doubtAll()
      refusals++
      // It may have been for one that is not wanted any more.
      const left = (isNamed ? [uri] : tried).filter(each => wanted.has(each))
      if (!isNamed && tried.length > 1) halve(left)
      else for (const only of left) refuse(only, refusal)
      if (isSpent()) for (const left of [...unknown(), ...doubted.flat()]) tellOnce(left, UNCLEAR)
    },
    isPutOff: () => putOff.size > 0 || (isSpent() && unknown().length + doubted.length > 0),
    resume() {
      // Behind those of which nobody knows: there may be good ones among these.
      doubted = [...doubted, ...[...putOff].map(uri => [uri])]
      putOff.clear()
      refusals = 0
    },
  }
}
