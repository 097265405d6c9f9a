/** A map that forgets what was not asked for longest. */
export interface Recent<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
}

export function createRecent<V>(limit: number): Recent<V> {
  const entries = new Map<string, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const [oldest] = entries.keys()
      if (entries.size > limit && oldest !== undefined) entries.delete(oldest)
    },
  }
}
