import type { Clock } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { beforeAbort, NEVER, pause } from './abort.ts'
import {
  type ChannelEnd,
  ChannelFailure,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  type OpenChannel,
  RPC,
  RpcError,
  SendFailure,
} from './channel.ts'
import { createLegacySession, LEGACY_CAPABILITIES } from './legacy-session.ts'
import { createModernSession, envelopeFor } from './modern-session.ts'
import { type Listener, openRpcChannel, type RpcChannel } from './peer.ts'
import type { Era, Session, SessionEvents, SessionFacts } from './session.ts'
import { capabilitiesOf, instructionsOf, serverOf } from './session-parts.ts'

interface SessionOptions {
  readonly open: OpenChannel
  /** The protocol era, where it is known. */
  readonly era: Era | 'auto'
  /** The era is that of the last connection, and may have changed since. */
  readonly isRemembered?: boolean
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly events: SessionEvents
}

/**
 * How long a program may take to answer `server/discover` before `initialize` is sent as well. Legacy programs may
 * ignore unknown requests; the first answer decides.
 */
const SILENCE_MS = 5_000
/** A program that reads no more has usually exited by then. */
const ENDING_MS = 1_000

/** Connects to a server and detects its era. Rejects with a `ChannelFailure` or a `SendFailure`. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  if (options.era !== 'auto') return meet(options, options.era, signal)
  try {
    return await meet(options, 'auto', signal)
  } catch (error) {
    // Some legacy programs exit on an unknown request.
    if (!(error instanceof EndedAtMeeting) || signal.aborted) throw error
    return meet(options, 'legacy', signal)
  }
}

async function meet(options: SessionOptions, era: Era | 'auto', signal: AbortSignal): Promise<Session> {
  let listener: Listener = EARLY
  let isModern = era !== 'legacy'
  const rpc = await openRpcChannel({ ...options, listener: () => listener, isModern: () => isModern }, signal)
  try {
    const facts = await introduce(rpc, options, { era, signal })
    isModern = facts.era === 'modern'
    const made = isModern ? createModernSession(rpc, facts, options) : createLegacySession(rpc, facts, options)
    listener = made.listener
    if (!isModern) await greet(rpc, facts, signal)
    return made.session
  } catch (error) {
    const end = await endBehind(error, rpc, { clock: options.clock, signal })
    await rpc.close()
    throw end ? new EndedAtMeeting(end) : error
  }
}

/** How the program exited that could not be written to. Over HTTP a request fails alone. */
async function endBehind(
  error: unknown,
  { channel, ended }: RpcChannel,
  options: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ChannelEnd | undefined> {
  if (!(error instanceof SendFailure) || channel.hasExchanges) return undefined
  return Promise.race([ended, pause(ENDING_MS, { ...options, until: ended }).then(() => undefined)])
}

class EndedAtMeeting extends ChannelFailure {}

interface Meeting {
  readonly era: Era | 'auto'
  readonly signal: AbortSignal
}

async function introduce(rpc: RpcChannel, options: SessionOptions, { era, signal }: Meeting): Promise<SessionFacts> {
  if (era === 'legacy') return initialize(rpc, options, signal)
  // Over HTTP every request is answered, also an unknown one.
  const maybeSilent = options.isRemembered && !rpc.channel.hasExchanges
  if (era === 'modern' && !maybeSilent) return discover(rpc, options, signal)
  if (rpc.channel.hasExchanges) return probe(rpc, options, signal)
  return firstOf(rpc, options, signal)
}

/** Connects in the modern era, and in the legacy one where that is not understood. */
async function probe(rpc: RpcChannel, options: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  try {
    return await discover(rpc, options, signal)
  } catch (error) {
    if (!isAboutEras(error)) throw error
    return initialize(rpc, options, signal)
  }
}

/** Like `probe`, for a program that may also keep silent or exit. */
function firstOf(rpc: RpcChannel, options: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const giveUp = new AbortController()
  const either = AbortSignal.any([signal, giveUp.signal])
  return new Promise<SessionFacts>((resolve, reject) => {
    let asked: Promise<void> | undefined
    let isNewerOpen = true
    let olderRefused: unknown
    // Once: a program that was only slow to start answers both requests.
    const older = () => {
      asked ??= initialize(rpc, options, either).then(resolve, error => {
        // A modern-only server refuses `initialize` at once, and may take longer for its own answer.
        if (isNewerOpen && isAboutEras(error)) olderRefused = error
        else reject(error)
      })
    }
    const cancel = options.clock.after(SILENCE_MS, older)
    discover(rpc, options, either)
      .then(resolve, error => {
        cancel()
        isNewerOpen = false
        if (!isAboutEras(error)) return reject(error)
        return olderRefused ? reject(olderRefused) : older()
      })
      .finally(cancel)
  }).finally(() => giveUp.abort())
}

/** Whether a server answers like this to a revision that it does not know. */
export function isAboutEras(error: unknown): boolean {
  if (error instanceof RpcError) return true
  const status = error instanceof SendFailure ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && !NOT_ABOUT_ERAS.has(status)
}

const NOT_ABOUT_ERAS = new Set([401, 403, 408, 429])

async function discover(rpc: RpcChannel, { client }: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const _meta = envelopeFor(client, { form: true, url: true, model: true, roots: true })
  const ask = () => rpc.peer.request('server/discover', { _meta }, { signal })
  // A server that refuses the revision and lists it as supported is asked once more.
  const result = await ask().catch(error => (namesOurs(error) ? ask() : Promise.reject(error)))
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(MODERN_VERSION))
    throw new RpcError({
      code: RPC.unsupportedVersion,
      message: `It does not speak MCP ${MODERN_VERSION}.`,
      data: { supported: supportedVersions },
    })
  const meta: Params = isRecord(result._meta) ? result._meta : {}
  return {
    era: 'modern',
    version: MODERN_VERSION,
    server: serverOf(meta[META.serverInfo] ?? result.serverInfo),
    instructions: instructionsOf(result),
    capabilities: capabilitiesOf(result),
  }
}

function namesOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== RPC.unsupportedVersion || !isRecord(error.data)) return false
  const { supported } = error.data
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

async function initialize(rpc: RpcChannel, { client }: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const [protocolVersion] = LEGACY_VERSIONS
  const params = { protocolVersion, capabilities: LEGACY_CAPABILITIES, clientInfo: client }
  const result = await rpc.peer.request('initialize', params, { signal })
  const version = String(result.protocolVersion)
  if (!LEGACY_VERSIONS.includes(version))
    throw new RpcError({
      code: RPC.unsupportedVersion,
      message: `It speaks MCP "${version.slice(0, 20)}", which is unknown here.`,
      data: { supported: [version] },
    })
  return {
    era: 'legacy',
    version,
    server: serverOf(result.serverInfo),
    instructions: instructionsOf(result),
    capabilities: capabilitiesOf(result),
  }
}

/** Completes the legacy handshake and sets the log level. */
async function greet(rpc: RpcChannel, { version, capabilities }: SessionFacts, signal: AbortSignal): Promise<void> {
  const { channel, peer } = rpc
  channel.agreed?.(version)
  // Over HTTP the notification has an answer too, which a server may never send.
  await beforeAbort(peer.notify('notifications/initialized'), signal)
  if (!isRecord(capabilities.logging)) return
  peer.request('logging/setLevel', { level: 'info' }, { signal: NEVER }).catch(() => {
    // Its log is optional.
  })
}

const FIRST: ReadonlySet<string> = new Set(['server/discover', 'initialize'])

/** During the handshake servers may ask nothing, and notifications can wait. */
const EARLY: Listener = {
  async serve(method) {
    if (method === 'ping') return {}
    // Only an echo sends these requests back; people read its answer.
    const message = FIRST.has(method)
      ? 'It sends back what it is sent, so it is no MCP server.'
      : 'Nothing can be asked yet.'
    throw new RpcError({ code: RPC.methodNotFound, message })
  },
  onNotification() {},
}
