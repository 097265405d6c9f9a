import type { DocsAnswer, DocsQuestion, Problem } from '../../contracts/index.ts'
import type { Generation } from '../catalogue/index.ts'
import type { Clock } from '../kernel/index.ts'
import { type CheckParts, checkLibrary } from './check-library.ts'
import { type ConsultParts, consult } from './consult.ts'
import { createDocIndex, type DocIndex } from './doc-index.ts'

/** All there is to read, for whoever asks. There is one index for all: who sees what is decided by each question. */
export interface Docs {
  /** Rejects with `NAME_UNKNOWN` for a path that leads nowhere. */
  answer(question: DocsQuestion, asking: Pick<ConsultParts, 'generation' | 'reader' | 'isWhole'>): Promise<DocsAnswer>
  readonly index: DocIndex
  /** What is wrong with it. */
  check(generation: Generation, parts: CheckParts): Promise<Problem[]>
}

export function createDocs(clock: Pick<Clock, 'now' | 'breathe'>): Docs {
  const index = createDocIndex(clock)
  return {
    index,
    answer: (question, asking) => consult(question, { ...asking, index, clock }),
    check: (generation, parts) => checkLibrary(generation, { ...parts, clock }),
  }
}
