import type { UpstreamConfig } from '../../contracts/index.ts'

/** A server that a capability names for an agent. */
export interface GuestRequest {
  readonly name: string
  /** The capability. Its tools begin with this, unless another server of the same capability has it. */
  readonly key: string
  readonly agent: string
  readonly config: UpstreamConfig
}

/** The servers that capabilities name, beside those of the configuration. */
export interface Guests {
  /**
   * Takes one in, unless it is there. There is room for so many and no more. `changed`: one has come, or was asked for by
   * nobody for the first time, so definitions want to be read anew.
   */
  ask(request: GuestRequest): 'changed' | 'same' | 'full'
  /** The servers that a capability names, whoever has them. */
  namedBy(key: string): string[]
  /** An agent has lost this capability, or all of them. Answers whether somebody was let go, whom nobody has any more. */
  leave(agent: string, key?: string): boolean
  /** Definitions are read anew, so who is still wanted is asked for again. Answers whether somebody was let go. */
  age(): boolean
  /**
   * Gives names to those that have none: what they were called before a restart, or the short ones of their capability, if nobody
   * has these. Where it cannot be told what one was called that is left for the next time. Answers all.
   */
  settled(
    namesOf: (server: string) => Promise<readonly string[] | undefined>,
  ): Promise<ReadonlyMap<string, UpstreamConfig>>
  /** One that has no names yet has its own, which nobody else can have. */
  configs(): ReadonlyMap<string, UpstreamConfig>
}

/** Each may be a process. */
export const MOST_GUESTS = 64
/** After a reading whoever is wanted is asked for again; who is not by the next one is gone. */
const READINGS = 1

interface Guest {
  readonly key: string
  readonly config: UpstreamConfig
  /** Agents that have it and no other of the same capability. */
  readonly agents: Set<string>
  /** What its names begin with. They stay the same whoever else comes or goes. */
  prefix?: string
  /** Those that agents had of this capability before, and of whose names it gets the short ones once nobody has them any more. */
  readonly inPlaceOf: Set<string>
  readingsSince: number
  /** Once: two that take turns in being wanted must not have everything read for ever. */
  wasLeft: boolean
}

export function createGuests(): Guests {
  const guests = new Map<string, Guest>()

  /** The agent has another one now. Answers whether that leaves one alone. */
  function release({ name, key, agent }: GuestRequest): boolean {
    let isNews = false
    for (const [other, guest] of guests) {
      if (guest.key !== key || other === name || !guest.agents.delete(agent)) continue
      guests.get(name)?.inPlaceOf.add(other)
      isNews ||= guest.agents.size === 0 && !guest.wasLeft
      guest.wasLeft ||= guest.agents.size === 0
    }
    return isNews
  }

  const isTaken = (key: string) => [...guests.values()].some(guest => guest.key === key && guest.prefix === key)

  /** Its names go to the one in its place, if those are the short ones. */
  function letGo(name: string, { key, prefix }: Guest): void {
    guests.delete(name)
    let heir: Guest | undefined
    for (const guest of guests.values()) if (guest.inPlaceOf.delete(name)) heir ??= guest
    if (heir && prefix === key) heir.prefix = key
  }

  const configs = () =>
    new Map([...guests].map(([name, { config, prefix = name }]) => [name, { ...config, prefix }] as const))

  return {
    ask(request) {
      const { name, key, agent, config } = request
      const known = guests.get(name)
      if (!known && guests.size >= MOST_GUESTS) return 'full'
      const guest = known ?? {
        key,
        config,
        agents: new Set(),
        inPlaceOf: new Set(),
        readingsSince: 0,
        wasLeft: false,
      }
      guest.agents.add(agent)
      guest.readingsSince = 0
      guests.set(name, guest)
      return release(request) || !known ? 'changed' : 'same'
    },
    namedBy: key => [...guests].filter(([, guest]) => guest.key === key).map(([name]) => name),
    leave(agent, key) {
      const before = guests.size
      const lost = [...guests].filter(([, guest]) => key === undefined || guest.key === key)
      const had = new Set(lost.filter(([, guest]) => guest.agents.delete(agent)).map(([, guest]) => guest.key))
      // Also those that it had before, and nobody has any more.
      for (const [name, guest] of lost) if (had.has(guest.key) && guest.agents.size === 0) letGo(name, guest)
      return guests.size < before
    },
    age() {
      const before = guests.size
      for (const [name, guest] of guests)
        if (guest.readingsSince++ >= READINGS && guest.agents.size === 0) {
          letGo(name, guest)
        }
      return guests.size < before
    },
    configs,
    async settled(namesOf) {
      const had = new Map<Guest, readonly string[] | undefined>()
      const unnamed = () => [...guests].filter(([, guest]) => guest.prefix === undefined)
      const unread = () => unnamed().filter(([, guest]) => !had.has(guest))
      // Others may come while it is read what these were called.
      for (let some = unread(); some.length > 0; some = unread())
        await Promise.all(some.map(async ([name, guest]) => had.set(guest, await namesOf(name))))
      const wasCalled = (guest: Guest, prefix: string) =>
        had.get(guest)?.some(one => one.startsWith(`${prefix}_`)) === true
      // First what they were called before a restart: nobody new takes that from them.
      for (const [name, guest] of unnamed())
        if (wasCalled(guest, name)) guest.prefix = name
        else if (wasCalled(guest, guest.key) && !isTaken(guest.key)) guest.prefix = guest.key
      for (const [name, guest] of unnamed()) if (had.get(guest)) guest.prefix = isTaken(guest.key) ? name : guest.key
      return configs()
    },
  }
}
