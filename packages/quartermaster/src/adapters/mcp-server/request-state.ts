import { randomBytes } from 'node:crypto'
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Clock } from '../../core/kernel/index.ts'
import { ANSWER_SECONDS, type OperationSeal, REPEAT_SECONDS } from '../../core/operations/index.ts'

/** All a client carries between two rounds: which exchange it takes part in, and in which of its rounds it was asked. */
const CarriedState = z.strictObject({
  exchangeId: z.string(),
  round: z.number(),
  /** The call that is on record. It is still there when the exchange is gone with its process. */
  operationId: z.string().optional(),
  /** Under which key the client was asked to allow that call, and when. */
  consent: z.strictObject({ key: z.string(), askedAt: z.number() }).optional(),
})
export type CarriedState = z.infer<typeof CarriedState>

/** Signs what a client carries between two rounds of one request, so that it cannot be made up. */
export type StateSigner = RequestStateCodec<CarriedState>

interface StatesDeps {
  readonly seal: OperationSeal
  readonly clock: Pick<Clock, 'now'>
}

/** A client whose answer comes late still hears how a recorded call ended. */
const TOLD_SECONDS = 86_400

/**
 * What is about an operation can be read by every process of the same store; the rest by this one alone, in which the exchange
 * lives that it speaks of, for as long as that keeps its end.
 */
export function createStates({ seal, clock }: StatesDeps): StateSigner {
  const own = createRequestStateCodec<CarriedState>({
    key: randomBytes(32),
    ttlSeconds: ANSWER_SECONDS + REPEAT_SECONDS,
  })

  async function sealed(state: CarriedState, operationId: string): Promise<string> {
    const until = clock.now() + ANSWER_SECONDS * 1000
    return `${LASTING}${operationId}.${await seal.seal(JSON.stringify({ state, until }), operationId)}`
  }

  async function opened(text: string): Promise<CarriedState> {
    const dot = text.indexOf('.', LASTING.length)
    const operationId = text.slice(LASTING.length, dot)
    const { state, until } = Sealed.parse(JSON.parse(await seal.open(text.slice(dot + 1), operationId)))
    const late = clock.now() - until
    if (late > TOLD_SECONDS * 1000) throw new Error('expired')
    if (late <= 0) return state
    // A yes that comes too late allows nothing.
    const { consent: _consent, ...rest } = state
    return rest
  }

  return {
    mint: (state, context) =>
      state.operationId === undefined ? own.mint(state, context) : sealed(state, state.operationId),
    verify: (text, context) => (text.startsWith(LASTING) ? opened(text) : own.verify(text, context)),
  }
}

const LASTING = 'op1.'

const Sealed = z.strictObject({ state: CarriedState, until: z.number() })
