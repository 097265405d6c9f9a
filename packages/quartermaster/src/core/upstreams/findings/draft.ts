import type { UpstreamFinding } from '../../../contracts/index.ts'

/** What makes findings aggravate each other: two weak ones of different families, one of them telling, are strong together. */
export type Family =
  | 'override'
  | 'conceal'
  | 'order'
  | 'conversation'
  | 'secret'
  | 'send'
  | 'consent'
  | 'otherTool'
  | 'hidden'
  | 'lookalike'
  | 'padding'
  /** What only the model has, by the name of a parameter. Two of these are strong together. */
  | 'wanted'
  /** What was found by concept and may be meant honestly. It aggravates nothing. */
  | 'hint'

/** A finding before it is known where it stands and what stands beside it. */
export interface Draft {
  readonly rule: 'instruction' | 'otherTool' | 'secret' | 'hidden' | 'lookalike' | 'padding'
  readonly family: Family
  readonly strength: UpstreamFinding['strength']
  readonly excerpt: string
  readonly message: string
  /** It stands in a sentence that is worded like a description, so it counts only where something makes it strong. */
  readonly isPlain?: boolean
}
