import { createRequestStateCodec, type RequestStateCodec } from '@modelcontextprotocol/server'
import { ANSWER_SECONDS } from '../../core/operations/index.ts'

/** All a client carries between two rounds: which exchange it takes part in, and in which of its rounds it was asked. */
export interface CarriedState {
  readonly exchangeId: string
  readonly round: number
}

/** Signs what a client carries between two rounds of one request, so that it cannot be made up. */
export type StateSigner = RequestStateCodec<CarriedState>

/** A signer for one process: the exchanges it speaks of live in it. */
export function createStates(key: Uint8Array): StateSigner {
  return createRequestStateCodec<CarriedState>({ key, ttlSeconds: ANSWER_SECONDS })
}
