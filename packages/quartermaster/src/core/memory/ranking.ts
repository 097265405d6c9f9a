import type { Candidate } from './candidate.ts'
import { createHearing } from './hearing.ts'
import { louder, type Voices, voicesOf, type WordFacts } from './voices.ts'

export interface RankingFacts extends WordFacts {
  /** When the question was asked first. */
  readonly now: number
}

export interface RankedMemory {
  readonly id: string
  readonly slot: number
  readonly score: number
  readonly beforeId: string | null
}

/** What all words say for a memory that stand anywhere in its conversation. */
const CONVERSATION_SHARE = 0.1
/** How much more a memory of this moment counts than one that is very old, and after how long half of that is gone. */
const RECENCY_SHARE = 0.1
const HALF_LIFE_MS = 30 * 86_400_000

export interface Ranking {
  /** Those that have anything to do with the question, the best first, and of equal ones the newest. */
  readonly ranked: readonly RankedMemory[]
  /** How many words a memory has, as it was reckoned with. */
  readonly usual: number
}

export function rankMemories(candidates: readonly Candidate[], facts: RankingFacts): Ranking {
  const { own, usual } = voicesOf(candidates, facts)
  const heardBy = createHearing(candidates, own)
  const conversations = fitOfConversations(candidates, own)
  const ranked: RankedMemory[] = []
  for (const candidate of candidates) {
    const { id, slot, createdAt, conversation, beforeId } = candidate
    const fit = sum(heardBy(candidate))
    if (fit === 0 || (conversation === null && sum(own.get(id) ?? []) === 0)) continue
    const lift = conversation === null ? 0 : CONVERSATION_SHARE * (conversations.get(conversation) ?? 0)
    ranked.push({ id, slot, beforeId, score: (fit + lift) * recency(facts.now - createdAt) })
  }
  return { ranked: ranked.toSorted(compareRanked), usual }
}

type RankedSpot = Pick<RankedMemory, 'slot' | 'score'>

/** The order of the answers to one question. */
export function compareRanked(a: RankedSpot, b: RankedSpot): number {
  return b.score - a.score || b.slot - a.slot
}

/** How well everything in a conversation fits the question together. */
function fitOfConversations(candidates: readonly Candidate[], own: ReadonlyMap<string, Voices>) {
  const loudest = new Map<string, Voices>()
  for (const { id, conversation } of candidates) {
    const voices = own.get(id) ?? []
    if (conversation !== null) loudest.set(conversation, louder(voices, loudest.get(conversation) ?? []))
  }
  return new Map([...loudest].map(([conversation, voices]) => [conversation, sum(voices)]))
}

const sum = (voices: Voices) => voices.reduce((all, voice) => all + voice, 0)

function recency(age: number): number {
  return 1 + RECENCY_SHARE * 2 ** (-Math.max(0, age) / HALF_LIFE_MS)
}
