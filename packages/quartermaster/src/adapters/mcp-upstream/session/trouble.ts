import { messageOf } from '../../../contracts/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { ChannelFailure, SendFailure } from './channel.ts'
import { RpcError } from './rpc-error.ts'

/** What went wrong. A model may read the reason; what the server said are the words of a stranger, and for people alone. */
export interface Trouble {
  /** In a sentence of ours. */
  readonly reason: string
  readonly said?: string | undefined
}

/** What an error means that came up while a server was being reached. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof ChannelFailure) return error.end
  if (error instanceof RpcError)
    return { reason: `It answered with an error (${error.code}).`, said: excerptOf(error.message, MOST_SAID) }
  const said = error instanceof SendFailure ? error.said : undefined
  return { reason: sentence(messageOf(error)), said }
}

/** All of it, for people: for logs and what commands show. */
export function forPeople({ reason, said }: Trouble): string {
  return said === undefined ? reason : `${reason.replace(/\.$/, '')}: ${said}`
}

/** What is shown of a server's words. */
export const MOST_SAID = 300

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
