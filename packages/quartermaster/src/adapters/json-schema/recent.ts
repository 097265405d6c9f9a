/** A map that forgets what was not asked for in a while. */
export interface Recent<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
}

/** Keeps `limit` values. Reading only leaves a mark, so that it costs no more than reading a map. */
export function createRecent<V>(limit: number): Recent<V> {
  const entries = new Map<string, { readonly value: V; used: boolean }>()
  return {
    get(key) {
      const entry = entries.get(key)
      if (entry) entry.used = true
      return entry?.value
    },
    set(key, value) {
      // Whatever was used since it was last looked at gets another round. Before the new one is in: nobody can have
      // used that yet, and it would be the first to go.
      for (const [oldest, entry] of entries) {
        if (entries.size < limit) break
        entries.delete(oldest)
        if (entry.used) entries.set(oldest, { value: entry.value, used: false })
      }
      entries.set(key, { value, used: false })
    },
  }
}
