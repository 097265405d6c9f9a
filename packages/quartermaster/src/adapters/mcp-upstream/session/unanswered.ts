import { AppError, isAppError } from '../../../contracts/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import type { Behind } from './session.ts'

/** Remembers of requests what their server asked in vain, because whoever made them cannot answer such a thing. */
export interface Unanswered {
  /** Whether it is sure that this request asked, or another of the same caller may have. */
  note(behind: Behind, why: unknown, options: { readonly isSure: boolean }): void
  /** What to tell of a request that ended with an error: not only that, but what its client would have to be able to do. */
  reasonFor(behind: Behind, failure: string): AppError | undefined
  /**
   * A result as it is. Whether it is a failure for want of the answer nobody knows, so to one that tells of a failure, of a
   * request that is sure to have asked, is added what was not answered.
   */
  addTo(result: Params, behind: Behind): Params
}

export function createUnanswered(): Unanswered {
  const reasons = new WeakMap<Behind, { readonly why: AppError; readonly isSure: boolean }>()
  return {
    note(behind, why, { isSure }) {
      if (isAppError(why) && why.code === 'ANSWER_UNAVAILABLE') reasons.set(behind, { why, isSure })
    },
    reasonFor(behind, failure) {
      const reason = reasons.get(behind)?.why
      if (!reason) return undefined
      const message = `${reason.message} Without an answer it failed: ${excerptOf(failure, MOST_TOLD)}`
      const { details } = reason
      return new AppError('ANSWER_UNAVAILABLE', message, { cause: reason, ...(details ? { details } : {}) })
    },
    addTo(result, behind) {
      const { isError, content } = result
      const noted = reasons.get(behind)
      if (!noted?.isSure || isError !== true || !Array.isArray(content)) return result
      const text = `Nobody could answer what it asked on the way. ${noted.why.message}`
      return { ...result, content: [...content, { type: 'text', text }] }
    },
  }
}

const MOST_TOLD = 500

/**
 * What a result says that tells of a failure and of nothing else. One with a structure is an answer that its tool has thought
 * about, whatever it could not ask.
 */
export function bareFailureIn({ isError, content, structuredContent }: Params): string | undefined {
  if (isError !== true || structuredContent !== undefined || !Array.isArray(content)) return undefined
  const texts = content.flatMap(part => (isRecord(part) && typeof part.text === 'string' ? [part.text] : []))
  return texts.join(' ')
}
