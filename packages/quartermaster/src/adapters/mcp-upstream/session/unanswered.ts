import { AppError, isAppError } from '../../../contracts/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { GIVEN_UP_MS } from './given-up.ts'
import { RPC, type RpcError } from './rpc-error.ts'
import type { Behind } from './session.ts'

/**
 * Remembers of requests what their server asked in vain: because whoever made them cannot answer such a thing, or because
 * nobody knew which of several clients it was for, of which one may have given up its call.
 */
export interface Unanswered {
  /** Whether it is sure that this request asked, or another of the same caller may have. */
  note(behind: Behind, why: unknown, options: { readonly isSure: boolean }): void
  /** It may have been this request that was asked about, or one of another client: under way as well, or given up not long ago. */
  noteCrowded(behind: Behind): void
  /** What to tell of a request that ended with an error: not only that, but what its client would have to be able to do. */
  reasonFor(behind: Behind, failure: string): AppError | undefined
  /**
   * A result as it is. Whether it is a failure for want of the answer nobody knows, so to one that tells of a failure, of a
   * request that is sure to have asked, is added what was not answered. Where nobody was asked because of others, that is
   * added to whatever any of them gives: it would be taken for the person's refusal, and nobody knows whose it is.
   */
  addTo(result: Params, behind: Behind): Params
  /** The same of a call that ended with an error, where nobody was asked because of others: it need not be the last word. */
  failureOf(error: RpcError, behind: Behind): Params | undefined
}

export function createUnanswered(): Unanswered {
  const reasons = new WeakMap<Behind, { readonly why: AppError; readonly isSure: boolean }>()
  const crowded = new WeakSet<Behind>()
  return {
    noteCrowded(behind) {
      crowded.add(behind)
    },
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
      if (!Array.isArray(content)) return result
      const noted = reasons.get(behind)
      if (noted?.isSure && isError === true)
        return withText(result, content, `Nobody could answer what it asked on the way. ${noted.why.message}`)
      return crowded.has(behind) ? withText(result, content, CROWDED) : result
    },
    failureOf({ code, message }, behind) {
      if (!crowded.has(behind) || MEANINGFUL.has(code)) return undefined
      return withText({ isError: true }, [{ type: 'text', text: message }], CROWDED)
    },
  }
}

/** They say what is to be done before the call can succeed. */
const MEANINGFUL: ReadonlySet<number> = new Set([RPC.urlElicitationRequired, RPC.missingCapability])

const GIVEN_UP_MINUTES = GIVEN_UP_MS / 60_000

const CROWDED =
  'While this was under way its server asked something, and was told no without asking anybody: it does not say for which call ' +
  'it asks, and a call of another client was under way too, or was given up less than ' +
  `${GIVEN_UP_MINUTES} minutes before and may still be at work. If a refusal is spoken of here, no person refused; the next ` +
  'call may get through, once no other client of the same agent has one under way, and ' +
  `${GIVEN_UP_MINUTES} minutes after the last one that was given up.`

function withText(result: Params, content: readonly unknown[], text: string): Params {
  return { ...result, content: [...content, { type: 'text', text }] }
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
