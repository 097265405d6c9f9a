import { randomBytes } from 'node:crypto'
import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Clock } from '../../core/kernel/index.ts'
import { ANSWER_SECONDS, type OperationSeal, REPEAT_SECONDS } from '../../core/operations/index.ts'

/** What a client carries between two rounds: the exchange, and the round in which it was asked. */
const CarriedState = z.strictObject({
  exchangeId: z.string(),
  round: z.number(),
  /** The recorded call. It outlives the exchange, which is lost with its process. */
  operationId: z.string().optional(),
  /** The question that asked the client to allow the call, and when. */
  consent: z.strictObject({ key: z.string(), askedAt: z.number() }).optional(),
})
export type CarriedState = z.infer<typeof CarriedState>

/** Signs the carried state, so that a client cannot forge it. */
export type StateSigner = RequestStateCodec<CarriedState>


/** A client whose answer arrives late still gets the result of a recorded call for this long. */
const TOLD_SECONDS = 86_400

/**
 * State about an operation is sealed for every process of the same store. Other state is signed with a key of this process, which
 * alone has the exchange.
 */
export function createStates({ seal, clock }: { seal: OperationSeal; clock: Pick<Clock, 'now'> }): StateSigner {
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
    // Consent that arrives too late allows nothing.
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
