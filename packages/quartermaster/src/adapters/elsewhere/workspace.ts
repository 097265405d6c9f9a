import { type AppError, isAppError, toAppError } from '../../contracts/index.ts'
import type { Clock, Random } from '../../core/kernel/index.ts'
import { createEventParser } from '../http-client/index.ts'
import {
  type Bridge,
  createBridge,
  createPause,
  type Gateway,
  type Incoming,
  isPassing,
  type OpenFiles,
} from '../mcp-bridge/index.ts'
import {
  isRecord,
  isResponse,
  keyOf,
  type Notification,
  parseJson,
  parseMessage,
  type Request,
  type Response,
} from '../mcp-wire/index.ts'
import type { WorkspaceAddress } from './addresses.ts'
import { createRemote, type WorkspaceFacts } from './remote.ts'

/** Whether a workspace is reached. A failure that only a person can end is final. */
export type WorkspaceState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected' }
  | { readonly kind: 'failed'; readonly error: AppError; readonly isFinal: boolean }

/** One workspace that is elsewhere, as a server for this client. */
export interface Workspace {
  readonly index: number
  readonly address: WorkspaceAddress
  state(): WorkspaceState
  facts(): WorkspaceFacts | undefined
  /** Resolves when the first attempt to reach it has ended. */
  readonly tried: Promise<void>
  /** Sends a request and resolves with its answer. Rejects when the signal aborts, and cancels it there. */
  request(incoming: Incoming<Request>, signal: AbortSignal, options?: RequestOptions): Promise<Incoming<Response>>
  /** Resolves when it is connected. Rejects with the reason when it is not within that time, or a person has to do something. */
  back(ms: number): Promise<void>
  /** Sends a message that has no answer. */
  send(message: Notification | Response, text?: string): Promise<void>
  finish(): Promise<{ failure?: AppError }>
}

export interface RequestOptions {
  /** Rejects as soon as the server is lost, where others can answer; otherwise it is held until the server is back. */
  readonly untilLost?: boolean
}

/** What a workspace tells its client on its own. */
export interface WorkspaceListener {
  /** A notification, or a question of the server. */
  onMessage(incoming: Incoming, workspace: Workspace): Promise<void>
  onState(workspace: Workspace): void
  /** A message arrived in its inbox. */
  onArrival(workspace: Workspace): void
}

export interface WorkspaceDeps {
  readonly clock: Clock
  readonly random: Random
  readonly openFiles: OpenFiles
  /** The folder whose files can be attached. */
  readonly filesDir: string
  /** Aborts when the client has gone. */
  readonly gone: AbortSignal
  readonly signal: AbortSignal
  createKey(): string
  refuse?(facts: WorkspaceFacts): string | undefined
  tell(text: string): void
}

/** After that long a server that answers slowly is no longer waited for by its neighbours. */
const FIRST_TRY_MS = 5_000
/** An event with a message of 1 MiB, every character escaped. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024
/** How long only a person can help: a token that is renewed in its file is found within this time. */
const FINAL_PAUSE_MS = 5_000

export function openWorkspace(
  address: WorkspaceAddress,
  index: number,
  listener: WorkspaceListener,
  deps: WorkspaceDeps,
): Workspace {
  const { clock, gone, refuse } = deps
  const ending = new AbortController()
  const signal = AbortSignal.any([ending.signal, deps.signal, gone])
  const remote = createRemote({ address, clock, refuse }, deps)
  const waiting = new Map<string, (incoming: Incoming<Response>) => void>()
  /** Requests that are not held when the server is lost. */
  const impatient = new Set<(error: AppError) => void>()
  /** Calls that wait for the server to be back. */
  const returning = new Set<() => void>()
  let state: WorkspaceState = { kind: 'connecting' }
  let hasTried = () => {}
  const tried = new Promise<void>(resolve => {
    hasTried = resolve
  })
  clock.after(FIRST_TRY_MS, () => hasTried())

  async function write(text: string): Promise<void> {
    const message = parseMessage(text)
    if (!message) return
    if (!isResponse(message)) return listener.onMessage({ message, text }, workspace)
    const key = keyOf(message.id)
    waiting.get(key)?.({ message, text })
  }

  const bridge = createBridge({
    ...deps,
    writer: { write, gone },
    isSecure: address.url.startsWith('https:'),
    // Requests for the connection are held for a while; what is wrong is known at once.
    find: options =>
      remote.find(options).catch(error => {
        becomeFailed(toAppError(error))
        throw error
      }),
    command: `the server at ${address.url}`,
  })

  function become(next: WorkspaceState): void {
    const before = state
    state = next
    hasTried()
    if (next.kind === 'connected') for (const done of [...returning]) done()
    if (next.kind === 'failed') for (const giveUp of [...impatient]) giveUp(next.error)
    const isSame = before.kind === next.kind && messageIn(before) === messageIn(next)
    if (!isSame && !signal.aborted) listener.onState(workspace)
  }

  function becomeFailed(error: AppError): void {
    if (!signal.aborted) become({ kind: 'failed', error, isFinal: !isPassing(error) })
  }

  const workspace: Workspace = {
    index,
    address,
    tried,
    state: () => state,
    facts: remote.facts,
    request({ message, text }, cancelled, { untilLost = false } = {}) {
      return new Promise((resolve, reject) => {
        const key = keyOf(message.id)
        const done = () => {
          waiting.delete(key)
          impatient.delete(lost)
          cancelled.removeEventListener('abort', cancel)
        }
        const giveUp = (reason: unknown) => {
          done()
          const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } }
          bridge.receive(JSON.stringify(notice)).catch(() => {})
          reject(reason)
        }
        const cancel = () => giveUp(cancelled.reason)
        const lost = (error: AppError) => giveUp(error)
        if (cancelled.aborted) return reject(cancelled.reason)
        if (untilLost && state.kind === 'failed') return reject(state.error)
        if (untilLost) impatient.add(lost)
        cancelled.addEventListener('abort', cancel, { once: true })
        waiting.set(key, answer => {
          done()
          resolve(answer)
        })
        bridge.receive(text).catch(giveUp)
      })
    },
    async back(ms) {
      if (state.kind !== 'failed') return
      if (state.isFinal) throw state.error
      await new Promise<void>(resolve => {
        const cancel = clock.after(ms, done)
        function done(): void {
          cancel()
          returning.delete(done)
          resolve()
        }
        returning.add(done)
      })
      if (state.kind === 'failed') throw state.error
    },
    send: (message, text = JSON.stringify(message)) => bridge.receive(text),
    async finish() {
      ending.abort()
      const ended = await bridge.finish()
      remote.close()
      return ended
    },
  }
  const followed = (failure: AppError | undefined) => (failure ? becomeFailed(failure) : become({ kind: 'connected' }))
  void followLog(
    { bridge, remote, become: followed, onArrival: () => listener.onArrival(workspace) },
    { ...deps, signal },
  )
  return workspace
}

const messageIn = (state: WorkspaceState) => (state.kind === 'failed' ? state.error.message : '')

interface Followed {
  readonly bridge: Bridge
  readonly remote: ReturnType<typeof createRemote>
  /** Its log is followed, or cannot be. */
  become(failure: AppError | undefined): void
  onArrival(): void
}

/** Follows the workspace's log for as long as the bridge runs, which also shows whether the server is there. */
async function followLog({ bridge, remote, become, onArrival }: Followed, deps: WorkspaceDeps): Promise<void> {
  const { clock, random, signal, tell } = deps
  const pause = createPause({ clock, random, signal })
  let lastId: string | undefined

  async function follow(gateway: Gateway): Promise<void> {
    const over = new AbortController()
    const stop = () => over.abort()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const reply = await remote.openEvents(gateway, { lastId, signal: over.signal })
      become(undefined)
      const parse = createEventParser({
        maxBytes: MAX_EVENT_BYTES,
        onRetry() {},
        onEvent({ id, type, data }) {
          lastId = id ?? lastId
          if (type === 'message.received' && isArrival(data)) onArrival()
        },
      })
      for await (const chunk of reply) parse(chunk as Buffer)
    } catch (error) {
      // A stream that breaks is opened again; whether the server is still there shows then.
      if (isAppError(error)) throw error
    } finally {
      signal.removeEventListener('abort', stop)
      over.abort()
    }
  }

  for (let tries = 0; !signal.aborted; tries++) {
    const startedAt = clock.now()
    let gateway: Gateway | undefined
    try {
      gateway = await bridge.link.gateway()
      await follow(gateway)
    } catch (error) {
      if (signal.aborted) return
      const failed = toAppError(error)
      if (failed.code === 'CURSOR_GONE') {
        tell('Older events of the log were forgotten; it is followed from now on. Messages still wait in the inbox.')
        lastId = undefined
      } else {
        if (gateway) {
          bridge.link.lose(gateway)
          become(failed)
        }
        if (!isPassing(failed)) await new Promise<void>(resolve => clock.after(FINAL_PAUSE_MS, resolve))
      }
    }
    if (clock.now() - startedAt > FINAL_PAUSE_MS) tries = 0
    await pause(tries)
  }
}

/** Whether the event is a message that waits in the inbox. */
function isArrival(data: string): boolean {
  const activity = parseJson(data)
  return isRecord(activity) && activity.direction === 'in'
}
