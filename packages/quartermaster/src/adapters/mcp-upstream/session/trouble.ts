import { messageOf } from '../../../contracts/index.ts'
import { sentence } from '../../../core/kernel/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { isRecord } from '../../mcp-wire/index.ts'
import { ChannelFailure, SendFailure } from './channel.ts'
import { RPC, RpcError } from './rpc-error.ts'
import { UnreadableAnswer } from './unreadable-answer.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from './wire-names.ts'

/** What went wrong. A model may read the reason; what the server said are the words of a stranger, and for people alone. */
export interface Trouble {
  /** In a sentence of ours. */
  readonly reason: string
  readonly said?: string | undefined
}

/** What an error means that came up while a server was being reached. */
export function troubleOf(error: unknown): Trouble {
  if (error instanceof ChannelFailure) return error.end
  if (error instanceof RpcError && error.code === RPC.unsupportedVersion) return versionTrouble(error)
  if (error instanceof UnreadableAnswer) return { reason: error.message }
  if (error instanceof RpcError)
    return { reason: `It answered with an error (${error.code}).`, said: excerptOf(error.message, MOST_SAID) }
  const said = error instanceof SendFailure ? error.said : undefined
  return { reason: sentence(messageOf(error)), said }
}

/** Which versions it speaks, where it names any. Only what looks like one: a model may read it. */
function versionTrouble({ message, data }: RpcError): Trouble {
  const { supported } = isRecord(data) ? data : {}
  const versions = (Array.isArray(supported) ? supported : []).filter(one => VERSION.test(String(one)))
  const ours = `We speak ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`
  return versions.length > 0
    ? { reason: `It speaks MCP ${versions.slice(0, MOST_VERSIONS).join(', ')} only. ${ours}` }
    : { reason: `It speaks no version of MCP that we do. ${ours}`, said: excerptOf(message, MOST_SAID) }
}

const VERSION = /^\d{4}-\d{2}-\d{2}$/
const MOST_VERSIONS = 8

/** All of it, for people: for logs and what commands show. */
export function forPeople({ reason, said }: Trouble): string {
  return said === undefined ? reason : `${reason.replace(/\.$/, '')}: ${said}`
}
