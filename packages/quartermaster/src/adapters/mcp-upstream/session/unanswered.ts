import { AppError, isAppError } from '../../../contracts/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { Behind } from './session.ts'

/** Remembers of requests what their server asked in vain, because whoever made them cannot answer such a thing. */
export interface Unanswered {
  note(behind: Behind, why: unknown): void
  /**
   * What to tell of a request that then failed: not only that it did, but what its client would have to be able to do.
   * Nothing for one that could do without the answer.
   */
  reasonFor(behind: Behind, failure: string): AppError | undefined
}

export function createUnanswered(): Unanswered {
  const reasons = new WeakMap<Behind, AppError>()
  return {
    note(behind, why) {
      if (isAppError(why) && why.code === 'ANSWER_UNAVAILABLE') reasons.set(behind, why)
    },
    reasonFor(behind, failure) {
      const reason = reasons.get(behind)
      if (!reason) return undefined
      const message = `${reason.message} Without an answer it failed: ${excerptOf(failure, MOST_TOLD)}`
      const { details } = reason
      return new AppError('ANSWER_UNAVAILABLE', message, { cause: reason, ...(details ? { details } : {}) })
    },
  }
}

const MOST_TOLD = 500

/** What a result says that tells of a failure; nothing for one that does not. */
export function failureIn({ isError, content }: Params): string | undefined {
  if (isError !== true) return undefined
  const texts = (Array.isArray(content) ? content : []).flatMap(part =>
    isRecord(part) && typeof part.text === 'string' ? [part.text] : [],
  )
  return texts.join(' ')
}
