/** Has a server of the era before 2026-07-28 tell of changes at some addresses and no others. */
export interface LegacySubscriptions {
  want(uris: ReadonlySet<string>): void
  wanted(): ReadonlySet<string>
}

export type SubscriptionMethod = 'resources/subscribe' | 'resources/unsubscribe'

/** `tell` resolves when the server has answered, or does not any more. */
export function createLegacySubscriptions(
  tell: (method: SubscriptionMethod, uri: string) => Promise<void>,
): LegacySubscriptions {
  let wanted: ReadonlySet<string> = new Set()
  /** What the server has heard of last, whatever it made of it. */
  const told = new Set<string>()
  const atWork = new Set<string>()

  /** One after the other: two that are under way at a time may overtake each other, and the last one counts. */
  async function settle(uri: string): Promise<void> {
    if (atWork.has(uri)) return
    atWork.add(uri)
    while (wanted.has(uri) !== told.has(uri)) await tellOnce(uri)
    atWork.delete(uri)
  }

  function tellOnce(uri: string): Promise<void> {
    if (told.delete(uri)) return tell('resources/unsubscribe', uri)
    told.add(uri)
    return tell('resources/subscribe', uri)
  }

  return {
    want(uris) {
      wanted = uris
      for (const uri of new Set([...uris, ...told])) void settle(uri)
    },
    wanted: () => wanted,
  }
}
