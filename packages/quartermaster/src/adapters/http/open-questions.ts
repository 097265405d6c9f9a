import { randomUUID } from 'node:crypto'
import { type Answer, AppError, type UrlQuestion } from '../../contracts/index.ts'

/** Pages that calls under way wait for, until somebody says that they were opened. */
export interface OpenQuestions {
  /** Tells of a question and waits for its answer, as long as the call's client is there. */
  ask(
    question: UrlQuestion,
    client: { tell(asked: { id: string; question: UrlQuestion }): void; signal: AbortSignal },
  ): Promise<Answer>
  /** Whether the answer was waited for. */
  answer(id: string, answer: Answer): boolean
}

/** As many as may wait at once; each holds a running call. */
const MOST_OPEN = 100

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, (answer: Answer) => void>()
  return {
    ask(question, { tell, signal }) {
      if (open.size >= MOST_OPEN)
        return Promise.reject(new AppError('ANSWER_UNAVAILABLE', `${MOST_OPEN} questions wait for answers already.`))
      const id = randomUUID()
      return new Promise((resolve, reject) => {
        const leave = () => {
          open.delete(id)
          signal.removeEventListener('abort', gone)
        }
        const gone = () => {
          leave()
          reject(new AppError('CANCELLED', 'Whoever was asked went away.'))
        }
        open.set(id, answer => {
          leave()
          resolve(answer)
        })
        signal.addEventListener('abort', gone, { once: true })
        tell({ id, question })
      })
    },
    answer(id, answer) {
      const reply = open.get(id)
      reply?.(answer)
      return reply !== undefined
    },
  }
}
