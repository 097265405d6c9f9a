import type { Id, Response } from '../../mcp-wire/index.ts'
import { RPC, RpcError } from './rpc-error.ts'

/**
 * A server answered, and the answer cannot be taken. It is no "no" of the server, which may have done what it was asked for. It is
 * there, though, and done with the request; asked again, it would answer the same.
 */
export class UnreadableAnswer extends RpcError {
  /** What is wrong with it, in a sentence. */
  readonly why: string
  constructor(why: string) {
    super({ code: RPC.internal, message: `Its answer is not taken. ${why}` })
    this.name = 'UnreadableAnswer'
    this.why = why
  }
}

/**
 * What stands for an answer that is not taken: whoever waits for it would wait for nothing. No error, because that would be the
 * server's own word, and no server can write it.
 */
export function refusedAnswer(id: Id, why: string): Response {
  return { jsonrpc: '2.0', id, result: new UnreadableAnswer(why) }
}
