import type { ApprovalRow, Lasting } from '../../../contracts/index.ts'
import type { Answerer } from './consent-decision.ts'

/** A person's answer to what one operation asks for. */
export interface ConsentAnswer {
  readonly decision: 'allow' | 'deny'
  readonly lasting: Lasting
  /** Of one that lasts for a time: how long. */
  readonly minutes?: number | undefined
}

/** An answer, to what, and by whom. */
export interface GivenAnswer {
  readonly request: ApprovalRow
  readonly answer: ConsentAnswer
  readonly by: Answerer
}
