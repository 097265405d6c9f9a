/** Where a term occurs: document slots, and beside each how much the term speaks for it. */
export interface Posting {
  readonly slots: number[]
  readonly impacts: number[]
}

/** From terms to the documents that have them. */
export interface TermIndex {
  add(slot: number, impacts: ReadonlyMap<string, number>): void
  remove(slot: number, terms: Iterable<string>): void
  posting(term: string): Posting | undefined
  /** Every term with the same first letter: nobody mistypes that, and it is a small part of all terms. */
  alike(term: string): string[]
}

export function createTermIndex(): TermIndex {
  const postings = new Map<string, Posting>()
  const byFirstLetter = new Map<string, Set<string>>()

  const create = (term: string): Posting => {
    const posting: Posting = { slots: [], impacts: [] }
    postings.set(term, posting)
    const alike = byFirstLetter.get(term.charAt(0)) ?? new Set()
    byFirstLetter.set(term.charAt(0), alike.add(term))
    return posting
  }
  const drop = (term: string) => {
    postings.delete(term)
    byFirstLetter.get(term.charAt(0))?.delete(term)
  }

  return {
    add(slot, impacts) {
      for (const [term, impact] of impacts) {
        const posting = postings.get(term) ?? create(term)
        posting.slots.push(slot)
        posting.impacts.push(impact)
      }
    },
    remove(slot, terms) {
      for (const term of terms) {
        const posting = postings.get(term)
        if (posting && takeOut(posting, slot) === 0) drop(term)
      }
    },
    posting: term => postings.get(term),
    alike: term => [...(byFirstLetter.get(term.charAt(0)) ?? [])],
  }
}

/** The last one takes the free place: the order within a posting means nothing. Answers how many are left. */
function takeOut({ slots, impacts }: Posting, slot: number): number {
  const at = slots.indexOf(slot)
  const lastSlot = slots.pop()
  const lastImpact = impacts.pop()
  if (at < slots.length && lastSlot !== undefined && lastImpact !== undefined) {
    slots[at] = lastSlot
    impacts[at] = lastImpact
  }
  return slots.length
}
