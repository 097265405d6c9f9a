/** What the index remembers of a document, beside its terms' postings. */
export interface Stored<T> {
  readonly id: string
  readonly name: string
  readonly hash: string | undefined
  readonly terms: readonly string[]
  readonly isDeprecated: boolean
  value: T
}

/** Documents in numbered slots, so that postings can hold numbers. A slot that got free is used again. */
export interface Shelf<T> {
  readonly size: number
  /** One more than the highest slot ever used. */
  readonly slots: number
  at(slot: number): Stored<T>
  slotOf(id: string): number | undefined
  ids(): string[]
  put(document: Stored<T>): number
  clear(slot: number): void
}

export function createShelf<T>(): Shelf<T> {
  const slotOf = new Map<string, number>()
  const stored: (Stored<T> | undefined)[] = []
  const free: number[] = []
  const at = (slot: number) => stored[slot] as Stored<T>
  return {
    get size() {
      return slotOf.size
    },
    get slots() {
      return stored.length
    },
    at,
    slotOf: id => slotOf.get(id),
    ids: () => [...slotOf.keys()],
    put(document) {
      const slot = free.pop() ?? stored.length
      stored[slot] = document
      slotOf.set(document.id, slot)
      return slot
    },
    clear(slot) {
      slotOf.delete(at(slot).id)
      stored[slot] = undefined
      free.push(slot)
    },
  }
}
