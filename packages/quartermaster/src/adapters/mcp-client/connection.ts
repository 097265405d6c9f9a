import { Client, type ElicitResult } from '@modelcontextprotocol/client'
import {
  AppError,
  type PersonQuestion,
  type ToolboxOptions,
  type ToolboxTool,
  type UrlQuestion,
} from '../../contracts/index.ts'
import {
  type Cancel,
  type Clock,
  createListeners,
  createReopenDelay,
  type Listeners,
  type Random,
} from '../../core/kernel/index.ts'
import { type RequestFacts, toolboxError } from './toolbox-error.ts'

/** Dependencies of change notifications. */
export interface Following {
  readonly clock: Clock
  readonly random: Random
}

export interface ConnectionDeps {
  readonly client: Client
  readonly address: URL
  /** Absent: changes are not followed. */
  readonly following: Following | undefined
  readonly list: Pick<ToolList, 'changed' | 'refresh'>
}

/** The connection to an `up`: maps its errors, and follows changes for as long as the token is valid. */
export function createConnection({ client, address, following, list }: ConnectionDeps) {
  let isStopped = false
  let isRefused = false
  let stopListening: Cancel = () => {}
  client.setNotificationHandler('notifications/tools/list_changed', list.changed)
  listen()

  function listen(): void {
    if (following && !isStopped)
      stopListening = keepListening(client, { ...following, onOpen, isFinal: error => isTokenRefused(toError(error)) })
  }

  function onOpen({ isFirst }: { readonly isFirst: boolean }): void {
    if (!isFirst) return list.changed()
    // The list may have changed before the first stream was open. If this fails, the next request reports why.
    list.refresh().catch(() => {})
  }

  /** An agent whose token is refused has no tools, whatever was listed before, and follows no changes. */
  function isTokenRefused({ code }: AppError): boolean {
    if (code !== 'TOKEN_INVALID') return false
    if (!isRefused) {
      isRefused = true
      stopListening()
      list.changed()
    }
    return true
  }

  /** The token is valid again: an agent that was removed and restored has the same token. */
  function resume(): void {
    isRefused = false
    listen()
  }

  function toError(thrown: unknown, request: Partial<RequestFacts> = {}): AppError {
    return toolboxError(thrown, { url: address, isCall: false, ...request })
  }

  return {
    /** Runs a request, and throws its failure as one of our errors. */
    async run<T>(work: () => Promise<T>, request?: Partial<RequestFacts>): Promise<T> {
      try {
        const result = await work()
        if (isRefused) resume()
        return result
      } catch (thrown) {
        const error = toError(thrown, request)
        isTokenRefused(error)
        throw error
      }
    },
    stop() {
      isStopped = true
      stopListening()
    },
  }
}

/** The first pause is short, for an `up` that is just restarting. */
const PAUSES = { firstMs: 100, longestMs: 5_000 }

interface KeepListeningOptions {
  readonly clock: Clock
  /** Jitter, so that the clients of one `up` do not all reconnect at once. */
  readonly random: Random
  /** Called when a stream opens; before, anything may have changed. */
  onOpen(opening: { readonly isFirst: boolean }): void
  /** Whether a failure ends the retries. */
  isFinal(error: unknown): boolean
}

/** Keeps the stream of change notifications open, over as many connections as needed. */
export function keepListening(
  client: Pick<Client, 'listen'>,
  { clock, random, onOpen, isFinal }: KeepListeningOptions,
): Cancel {
  const stop = new AbortController()
  const pauseAfter = createReopenDelay(PAUSES)
  let cancelPause: Cancel = () => {}
  const pause = (ms: number) =>
    new Promise<void>(resolve => {
      cancelPause = clock.after(ms * (0.5 + random()), resolve)
    })

  async function open() {
    try {
      return await client.listen({ toolsListChanged: true }, { signal: stop.signal })
    } catch (error) {
      if (isFinal(error)) stop.abort()
      // No server answers now; retried after a pause.
      return undefined
    }
  }

  async function listen(): Promise<void> {
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      const subscription = await open()
      if (stop.signal.aborted) return
      const openedAt = clock.now()
      if (subscription) {
        onOpen({ isFirst })
        // Whether it ended or failed: it is reopened.
        await subscription.closed.catch(() => {})
      }
      if (stop.signal.aborted) return
      await pause(pauseAfter(subscription ? clock.now() - openedAt : 0))
    }
  }

  void listen()
  return () => {
    stop.abort()
    cancelPause()
  }
}

/** The last tool list of a remote agent, and the listeners for its changes. */
export interface ToolList {
  /** The same array until the list changes. */
  current(): Promise<readonly ToolboxTool[]>
  /** Drops the cached list and notifies. */
  changed(): void
  /** Lists again, and notifies only if the list differs. */
  refresh(): Promise<void>
  readonly listeners: Listeners
}

export function createToolList(fetch: () => Promise<readonly ToolboxTool[]>): ToolList {
  const listeners = createListeners({ onError: warn })
  let known: Promise<readonly ToolboxTool[]> | undefined

  function changed(): void {
    known = undefined
    listeners.notify()
  }

  return {
    current() {
      known ??= fetch().catch(error => {
        known = undefined
        throw error
      })
      return known
    },
    changed,
    async refresh() {
      const cached = known
      if (!cached) return
      const [before, now] = await Promise.all([cached, fetch()])
      if (known === cached && JSON.stringify(before) !== JSON.stringify(now)) changed()
    },
    listeners,
  }
}

/** A warning is the only place to report it: the listener belongs to the host program. */
function warn(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`A listener for changes of a toolbox threw an error. ${text}`, 'QuartermasterWarning')
}

/** An MCP client that passes questions to the host program, if it can answer them. */
export function createToolboxClient({ ask }: ToolboxOptions): Client {
  const client = new Client(
    { name: 'quartermaster-toolbox', version: '1' },
    { capabilities: ask ? { elicitation: { form: {}, url: {} } } : {}, versionNegotiation: { mode: 'auto' } },
  )
  if (ask)
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const answer = await ask(toQuestion(params as ElicitParams), mcpReq.signal)
      return answer as ElicitResult
    })
  return client
}

interface ElicitParams {
  readonly mode?: string
  readonly message: string
  readonly url?: string
  readonly requestedSchema?: Record<string, unknown>
}

function toQuestion({ mode, message, url, requestedSchema }: ElicitParams): PersonQuestion | UrlQuestion {
  if (mode === 'url') return { kind: 'url', message, url: url ?? '' }
  return { message, schema: requestedSchema }
}

/** Validates the MCP address of an `up`. */
export function checkedAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol)) throw noAddress(`"${url}" is no address of an "up".`)
  // An address is shown in logs and messages.
  if (address.username !== '' || address.password !== '')
    throw noAddress(`The address of ${address.host} has a name or a password in it, and takes none: give a token.`)
  return address
}

function noAddress(what: string): AppError {
  return new AppError('CONFIG_INVALID', `${what} It is the mcpUrl that "quartermaster up" prints.`)
}

/** Validates a token. Trailing newlines of a token file are trimmed; an unsendable header would look like a missing server. */
export function checkedToken(token: string): string {
  const trimmed = typeof token === 'string' ? token.trim() : ''
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed
  throw new AppError(
    'TOKEN_INVALID',
    `${trimmed ? 'The token has characters that no token has' : 'There is no token'}. Make one: quartermaster tokens create AGENT.`,
  )
}
