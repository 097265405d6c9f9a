import { randomUUID } from 'node:crypto'
import { type Answer, AppError, type UrlQuestion } from '../../contracts/index.ts'

/** Pages that calls under way wait for, until a person says that they were opened. */
export interface OpenQuestions {
  /** Tells of a question and waits for its answer, as long as the call's client is there. */
  ask(
    question: UrlQuestion,
    client: AskedClient,
    /** Aborts when the call does not ask for it any more. */
    wanted?: AbortSignal,
  ): Promise<Answer>
  /** Whether the answer was waited for. */
  answer(id: string, answer: Answer): boolean
}

/** The client that waits for the call, and has pages opened. */
export interface AskedClient {
  tell(asked: { id: string; question: UrlQuestion }): void
  /** No client waits for the answer any more. */
  takeBack(id: string): void
  /** Aborts when it goes away. */
  readonly signal: AbortSignal
}

/** As many as may wait at once; each holds a running call. */
const MOST_OPEN = 100

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, (answer: Answer) => void>()
  return {
    ask(question, { tell, takeBack, signal }, wanted) {
      if (open.size >= MOST_OPEN)
        return Promise.reject(new AppError('ANSWER_UNAVAILABLE', `${MOST_OPEN} questions wait for answers already.`))
      if (wanted?.aborted) return Promise.reject(wanted.reason)
      const id = randomUUID()
      return new Promise((resolve, reject) => {
        const leave = () => {
          open.delete(id)
          signal.removeEventListener('abort', gone)
          wanted?.removeEventListener('abort', unwanted)
        }
        const gone = () => {
          leave()
          reject(new AppError('CANCELLED', 'The client that was asked went away.'))
        }
        const unwanted = () => {
          leave()
          takeBack(id)
          reject(wanted?.reason)
        }
        open.set(id, answer => {
          leave()
          resolve(answer)
        })
        signal.addEventListener('abort', gone, { once: true })
        wanted?.addEventListener('abort', unwanted, { once: true })
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
