import type { DocsAnswer, DocsQuestion } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type ConsultParts, consult } from './consult.ts'
import { createDocIndex, type DocIndex } from './doc-index.ts'

/** All there is to read, for whoever asks. There is one index for all: who sees what is decided by each question. */
export interface Docs {
  /** Rejects with `NAME_UNKNOWN` for a path that leads nowhere. */
  answer(question: DocsQuestion, asking: Pick<ConsultParts, 'generation' | 'reader'>): Promise<DocsAnswer>
  readonly index: DocIndex
}

export function createDocs(clock: Pick<Clock, 'now' | 'breathe'>): Docs {
  const index = createDocIndex(clock)
  return { index, answer: (question, asking) => consult(question, { ...asking, index, clock }) }
}
