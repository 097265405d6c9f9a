import type { HeldByOthers } from '../../contracts/index.ts'

/** What other clients of the same agent have in hand: in a sentence for the note, and structured. */
export function heldParts(held: HeldByOthers | undefined): {
  readonly notes: readonly string[]
  readonly data: { readonly held_by_others?: HeldByOthers }
} {
  return held ? { notes: [inWords(held)], data: { held_by_others: held } } : { notes: [], data: {} }
}

function inWords({ messages, until }: HeldByOthers): string {
  const which =
    messages === 1
      ? `1 message in hand until ${until}`
      : `${messages} messages in hand, the first of them until ${until}`
  return `Another client of yours has ${which}. Nothing of the same conversations is handed out before it has answered, it leaves or that time is over.`
}
