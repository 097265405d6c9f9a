import type { Clock } from '../../../core/kernel/index.ts'
import { isRecord, type Params } from '../../mcp-wire/index.ts'
import { pause } from '../pausing.ts'
import { beforeAbort } from './before-abort.ts'
import { type ChannelEnd, ChannelFailure, type OpenChannel, SendFailure } from './channel.ts'
import { createLegacySession, LEGACY_CAPABILITIES } from './legacy-session.ts'
import { type Line, type Listener, openLine } from './line.ts'
import { createModernSession, envelopeFor } from './modern-session.ts'
import { NEVER } from './never.ts'
import { RPC, RpcError } from './rpc-error.ts'
import type { Era, Session, SessionEvents, SessionFacts } from './session.ts'
import { capabilitiesOf, instructionsOf, serverOf } from './session-parts.ts'
import { LEGACY_VERSIONS, META, MODERN_VERSION } from './wire-names.ts'

export interface SessionOptions {
  readonly open: OpenChannel
  /** The era it is of, where that is known. */
  readonly era: Era | 'auto'
  /** That it was of that era when it was last met, which may have changed since. */
  readonly isRemembered?: boolean
  readonly client: { readonly name: string; readonly version: string }
  readonly clock: Clock
  readonly events: SessionEvents
}

/**
 * How long a program may take to answer what only servers of 2026-07-28 know, before it is spoken to as before. Older ones
 * may keep silent about what they do not know; both questions are then open, and the answer decides.
 */
const SILENCE_MS = 5_000
/** In which a program that reads no more has ended, as a rule, and how it did is known. */
const ENDING_MS = 1_000

/** Reaches a server, and finds out what it is. Rejects with a `ChannelFailure` or a `SendFailure`. */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Session> {
  if (options.era !== 'auto') return meet(options, options.era, signal)
  try {
    return await meet(options, 'auto', signal)
  } catch (error) {
    // Some older programs end when they are asked what they do not know.
    if (!(error instanceof EndedAtMeeting) || signal.aborted) throw error
    return meet(options, 'legacy', signal)
  }
}

async function meet(options: SessionOptions, era: Era | 'auto', signal: AbortSignal): Promise<Session> {
  let listener: Listener = EARLY
  let isModern = era !== 'legacy'
  const line = await openLine({ ...options, listener: () => listener, isModern: () => isModern }, signal)
  try {
    const facts = await introduce(line, options, { era, signal })
    isModern = facts.era === 'modern'
    const made = isModern ? createModernSession(line, facts, options) : createLegacySession(line, facts, options)
    listener = made.listener
    if (!isModern) await greet(line, facts, signal)
    return made.session
  } catch (error) {
    const end = await endBehind(error, line, { clock: options.clock, signal })
    await line.close()
    throw end ? new EndedAtMeeting(end) : error
  }
}

/** How the program ended that something could not be sent to: that says more. Over HTTP a request fails by itself. */
async function endBehind(
  error: unknown,
  { channel, ended }: Line,
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

async function introduce(line: Line, options: SessionOptions, { era, signal }: Meeting): Promise<SessionFacts> {
  if (era === 'legacy') return initialize(line, options, signal)
  // Over HTTP every request has an answer of its own, also one that nobody understands.
  const maybeSilent = options.isRemembered && !line.channel.hasExchanges
  if (era === 'modern' && !maybeSilent) return discover(line, options, signal)
  if (line.channel.hasExchanges) return probe(line, options, signal)
  return firstOf(line, options, signal)
}

/** Asks as from 2026-07-28 on, and as before where that is not understood. */
async function probe(line: Line, options: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  try {
    return await discover(line, options, signal)
  } catch (error) {
    if (!isAboutEras(error)) throw error
    return initialize(line, options, signal)
  }
}

/** The same, for a program that may also keep silent or end. */
function firstOf(line: Line, options: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const giveUp = new AbortController()
  const either = AbortSignal.any([signal, giveUp.signal])
  return new Promise<SessionFacts>((resolve, reject) => {
    let asked: Promise<void> | undefined
    let isNewerOpen = true
    let olderRefused: unknown
    // Once: a program that was only slow to start reads both questions, and answers both.
    const older = () => {
      asked ??= initialize(line, options, either).then(resolve, error => {
        // Who speaks only the newer way says so at once, and may take longer to say what there is.
        if (isNewerOpen && isAboutEras(error)) olderRefused = error
        else reject(error)
      })
    }
    const cancel = options.clock.after(SILENCE_MS, older)
    discover(line, options, either)
      .then(resolve, error => {
        cancel()
        isNewerOpen = false
        if (!isAboutEras(error)) return reject(error)
        return olderRefused ? reject(olderRefused) : older()
      })
      .finally(cancel)
  }).finally(() => giveUp.abort())
}

/** Whether this is how a server answers that does not know the revision it is spoken to in. */
export function isAboutEras(error: unknown): boolean {
  if (error instanceof RpcError) return true
  const status = error instanceof SendFailure ? error.status : undefined
  return status !== undefined && status >= 400 && status < 500 && !NOT_ABOUT_ERAS.has(status)
}

const NOT_ABOUT_ERAS = new Set([401, 403, 408, 429])

async function discover(line: Line, { client }: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const _meta = envelopeFor(client, { form: true, url: true, model: true, roots: true })
  const ask = () => line.peer.request('server/discover', { _meta }, { signal })
  // Who says no to the revision and names it among those that are spoken means it: once more, and no older one.
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

async function initialize(line: Line, { client }: SessionOptions, signal: AbortSignal): Promise<SessionFacts> {
  const [protocolVersion] = LEGACY_VERSIONS
  const params = { protocolVersion, capabilities: LEGACY_CAPABILITIES, clientInfo: client }
  const result = await line.peer.request('initialize', params, { signal })
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

/** Says that we are ready, and how much we want to hear. */
async function greet(line: Line, { version, capabilities }: SessionFacts, signal: AbortSignal): Promise<void> {
  const { channel, peer } = line
  channel.agreed?.(version)
  // Over HTTP it has an answer too, and a server may keep that to itself.
  await beforeAbort(peer.notify('notifications/initialized'), signal)
  if (!isRecord(capabilities.logging)) return
  peer.request('logging/setLevel', { level: 'info' }, { signal: NEVER }).catch(() => {
    // Its log is a courtesy.
  })
}

/** What a server is asked first, and never asks. */
const FIRST: ReadonlySet<string> = new Set(['server/discover', 'initialize'])

/** Before a server has said what it is there is nothing to be asked, and what it tells can wait. */
const EARLY: Listener = {
  async serve(method) {
    if (method === 'ping') return {}
    // Only an echo asks it, and sends this back as well: so it is what people read.
    const message = FIRST.has(method)
      ? 'It sends back what it is sent, so it is no MCP server.'
      : 'Nothing can be asked yet.'
    throw new RpcError({ code: RPC.methodNotFound, message })
  },
  notice() {},
}
