import type { Candidate } from './candidate.ts'
import { isAsking } from './memory-words.ts'
import { louder, type Voices } from './voices.ts'

/** What the words of a question say for a memory, with what was said right before and after it. */
export type Hearing = (candidate: Candidate) => Voices

/** How far back it is heard. A statement, a question about it, the answer, and the same once more. */
export const REACH = 4
/** What a word says for the answer when it stands in the question before: an answer seldom repeats what it was asked. */
const TO_AN_ANSWER = 0.8
/** What it says from further back, through a question: one asks about what was just said. */
const THROUGH_A_QUESTION = 0.7
const TO_THE_NEXT = 0.3
/** What a word says for what stands right before it. */
const TO_THE_LAST = 0.3

export function createHearing(candidates: readonly Candidate[], own: ReadonlyMap<string, Voices>): Hearing {
  const byId = new Map(candidates.map(candidate => [candidate.id, candidate]))
  const after = new Map<string, string[]>()
  for (const { id, previousId } of candidates)
    if (previousId !== null) after.set(previousId, [...(after.get(previousId) ?? []), id])
  const before = ({ previousId }: Candidate) => (previousId === null ? undefined : byId.get(previousId))

  function fromBefore(candidate: Candidate, voices: Voices): Voices {
    let heard = voices
    let share = 1
    let here = candidate
    for (let steps = 0; steps < REACH; steps++) {
      const last = before(here)
      if (!last) break
      share *= shareOf(last, here, here !== candidate)
      heard = louder(heard, own.get(last.id) ?? [], share)
      here = last
    }
    return heard
  }

  return candidate => {
    const behind = after.get(candidate.id) ?? []
    const voices = own.get(candidate.id) ?? []
    return behind.reduce((heard, id) => louder(heard, own.get(id) ?? [], TO_THE_LAST), fromBefore(candidate, voices))
  }
}

/** What of `last` is heard in `here`, or behind it. */
function shareOf(last: Candidate, here: Candidate, isBehind: boolean): number {
  if (isAsking(last.words)) return TO_AN_ANSWER
  return isBehind && isAsking(here.words) ? THROUGH_A_QUESTION : TO_THE_NEXT
}
