import { createFakeClock } from '../../../testing/fake-clock.ts'
import { isRequest, type Message, type Params, type Request } from '../../mcp-wire/index.ts'
import type { ChannelEvents, OpenChannel } from '../peer/channel.ts'
import { openSession } from '../peer/open-session.ts'
import { NO_EVENTS } from './bare-session.ts'

const ABOUT = {
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
  serverInfo: { name: 'notes', version: '1' },
  supportedVersions: ['2026-07-28'],
}

export interface NotesWays {
  /** The notes that it has; a stream that names any other is refused as a whole. */
  readonly has: Set<string>
  /** With which code it refuses. */
  readonly code?: number
  /** Whether it says for which note it refuses. */
  readonly isClear?: boolean
  /** What an acknowledgement says of the request it is for. */
  readonly names?: (id: Request['id']) => Params
  /** The notes among those asked for of which it tells, and what it says of that. */
  readonly honours?: (uris: readonly string[]) => Params
  /** Whether it tells of lists. */
  readonly hasLists?: boolean
  /** How many streams it has room for, and with which code it says that there is none. */
  readonly room?: number
  readonly roomCode?: number
  /** Of how many notes it tells, on all streams together. */
  readonly mostNotes?: number
  /** Whether it ends the stream before with the next one that it takes. */
  readonly endsEarlier?: boolean
  /** Whether it fails at every stream just now, after so many streams that were asked for. */
  readonly isIll?: (asked: number) => boolean
  readonly illCode?: number
  /** How long it takes to acknowledge a stream; for ever, where it never does. */
  readonly acknowledgesMs?: number
}

/** A program that has some notes, and what is heard of it. What it says is there with the next `settle`. */
export async function notes(ways: NotesWays) {
  const { has, code = -32_602, isClear = false, hasLists = true } = ways
  const { room = Infinity, roomCode = -32_603, isIll = () => false, illCode = -32_603, acknowledgesMs = 0 } = ways
  const { endsEarlier = false, mostNotes = Infinity } = ways
  const { names = id => ({ 'io.modelcontextprotocol/subscriptionId': id }) } = ways
  const { honours = resourceSubscriptions => ({ resourceSubscriptions }) } = ways
  const clock = createFakeClock()
  const said: Message[] = []
  /** What its open streams were asked for. */
  const live = new Map<unknown, readonly string[]>()
  const acknowledgedIds = new Set<unknown>()
  const heard = {
    unsubscribed: [] as string[],
    updated: [] as string[],
    changed: [] as string[],
    lines: [] as string[],
  }
  const seen = { asked: [] as (readonly string[])[], isEverSilent: false }
  let events: ChannelEvents | undefined

  const refuse = (id: Request['id'], why: { code: number; message: string; data?: unknown }) =>
    said.push({ jsonrpc: '2.0', id, error: why })
  const later = (ms: number, run: () => void) => (ms > 0 ? ms < Infinity && clock.after(ms, run) : run())
  function endAll(): void {
    for (const id of live.keys()) said.push({ jsonrpc: '2.0', id: id as number, result: { resultType: 'complete' } })
    live.clear()
  }
  function listen({ id, params = {} }: Request): void {
    const { resourceSubscriptions = [] } = params.notifications as { resourceSubscriptions?: string[] }
    seen.asked.push(resourceSubscriptions)
    if (isIll(seen.asked.length)) return void refuse(id, { code: illCode, message: 'Out of order.' })
    const bad = resourceSubscriptions.find(uri => !has.has(uri))
    if (bad !== undefined || !hasLists)
      return void refuse(id, { code, message: `There is no ${bad}.`, ...(isClear && { data: { uri: bad } }) })
    const told = [...live.values()].flat().length
    const isTooMuch = live.size >= room || told + resourceSubscriptions.length > mostNotes
    if (isTooMuch) return void refuse(id, { code: roomCode, message: 'There is no room.' })
    if (endsEarlier) endAll()
    live.set(id, resourceSubscriptions)
    const notifications = { toolsListChanged: true, ...honours(resourceSubscriptions) }
    const acknowledged = { notifications, _meta: names(id) }
    later(acknowledgesMs, () => {
      if (!live.has(id)) return
      acknowledgedIds.add(id)
      said.push({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledged })
    })
  }
  function take(message: Message): void {
    if (isRequest(message) && message.method === 'subscriptions/listen') return listen(message)
    if (isRequest(message)) return void said.push({ jsonrpc: '2.0', id: message.id, result: ABOUT })
    if ('method' in message && message.method === 'notifications/cancelled') live.delete(message.params?.requestId)
    seen.isEverSilent ||= live.size === 0
  }
  const open: OpenChannel = async told => {
    events = told
    return { hasExchanges: false, pids: () => [], send: async message => take(message), close: async () => {} }
  }
  async function settle(): Promise<void> {
    for (;;) {
      await clock.advance(0)
      const message = said.shift()
      if (!message) return
      events?.onMessage(message, undefined)
    }
  }
  /** Lets seconds go by, and answers what an address was not told of in each of them. */
  async function pass(seconds: number): Promise<{ deaf(uri: string): number }> {
    const told: Set<string>[] = []
    for (let second = 0; second < seconds; second++) {
      await clock.advance(1_000)
      await settle()
      told.push(new Set([...live.values()].flat()))
    }
    return { deaf: uri => told.filter(uris => !uris.has(uri)).length }
  }
  async function breakOff(): Promise<void> {
    endAll()
    await settle()
    await clock.advance(1_000)
    await settle()
  }

  const opening = openSession(
    {
      open,
      era: 'modern',
      clock,
      client: { name: 'test', version: '1' },
      events: {
        ...NO_EVENTS,
        onNotSubscribed: (uri, reason) => void heard.unsubscribed.push(`${uri}: ${reason}`),
        onResourceUpdated: uri => void heard.updated.push(uri),
        onListChanged: kind => void heard.changed.push(kind),
        onLog: (_, text) => void heard.lines.push(text),
      },
    },
    AbortSignal.timeout(10_000),
  )
  await settle()
  const session = await opening
  await settle()
  seen.asked.length = 0
  /** Of what it tells on streams that it has acknowledged. */
  const told = () => [...live].filter(([id]) => acknowledgedIds.has(id)).flatMap(([, uris]) => uris)
  return { session, settle, pass, breakOff, clock, heard, seen, told, live: () => [...live.values()] }
}

export const numbered = (count: number) => Array.from({ length: count }, (_, at) => `n://${at}`)
