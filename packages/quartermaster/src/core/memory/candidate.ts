/** A memory that may answer a question. */
export interface Candidate {
  readonly id: string
  readonly slot: number
  /** As they are kept: with a space between. */
  readonly words: string
  readonly createdAt: number
  /** The candidate right before it, where there is one. */
  readonly previousId: string | null
  /** What was remembered right before it, also where that is no candidate. */
  readonly beforeId: string | null
  /** The conversation that it is part of, in which an answer need not have any word of its question. */
  readonly conversation: string | null
}
