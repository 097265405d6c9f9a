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
  type Listeners,
  type Random,
  reopening,
} from '../../core/kernel/index.ts'
import { type Errand, toolboxError } from './toolbox-error.ts'

/** The way to an `up` and back. It brings changes for as long as the token is taken. */
interface Line {
  /** Does it, and throws what went wrong on the way in our words. */
  reached<T>(work: () => Promise<T>, errand?: Partial<Errand>): Promise<T>
  stop(): void
}

/** What following changes takes. */
export interface Following {
  readonly clock: Clock
  readonly random: Random
}

export interface LineDeps {
  readonly client: Client
  readonly address: URL
  /** No listener hears of changes where absent. */
  readonly following: Following | undefined
  readonly list: Pick<ToolList, 'changed' | 'lookAgain'>
}

export function createLine({ client, address, following, list }: LineDeps): Line {
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
    // What was listed while the first stream was being opened may be old already. Where that fails, the next request says why.
    list.lookAgain().catch(() => {})
  }

  /** Whose token is taken no more has no tools, whatever was listed before, and hears of none. */
  function isTokenRefused({ code }: AppError): boolean {
    if (code !== 'TOKEN_INVALID') return false
    if (!isRefused) {
      isRefused = true
      stopListening()
      list.changed()
    }
    return true
  }

  /** An agent that was away and is back has the same token. */
  function admitAgain(): void {
    isRefused = false
    listen()
  }

  function toError(thrown: unknown, errand: Partial<Errand> = {}): AppError {
    return toolboxError(thrown, { url: address, isCall: false, ...errand })
  }

  return {
    async reached(work, errand) {
      try {
        const done = await work()
        if (isRefused) admitAgain()
        return done
      } catch (thrown) {
        const error = toError(thrown, errand)
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

/** Pauses between tries: the first one short, for an `up` that is just being started again. */
const PAUSES = { firstMs: 100, longestMs: 5_000 }

interface KeepListeningOptions {
  readonly clock: Clock
  /** So that many who lost the same `up` do not come back at once. */
  readonly random: Random
  /** From now on changes are told. Before, anything may have changed. */
  onOpen(opening: { readonly isFirst: boolean }): void
  /** Whether this failure is the end of it. All others are tried again. */
  isFinal(error: unknown): boolean
}

/** Keeps the stream of changes open for as long as the client is, over as many connections as it takes. */
export function keepListening(
  client: Pick<Client, 'listen'>,
  { clock, random, onOpen, isFinal }: KeepListeningOptions,
): Cancel {
  const stop = new AbortController()
  const pauseAfter = reopening(PAUSES)
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
      // No server answers at present.
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
        // How it ended makes no difference.
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
interface ToolList {
  /** The same array until something has changed. */
  current(): Promise<readonly ToolboxTool[]>
  /** What was told does not hold any more, or may not. */
  changed(): void
  /** Asks once more for what was asked for already. It counts as changed only if it is. */
  lookAgain(): Promise<void>
  readonly listeners: Listeners
}

export function createToolList(fetch: () => Promise<readonly ToolboxTool[]>): ToolList {
  const listeners = createListeners({ onError: warn })
  let known: Promise<readonly ToolboxTool[]> | undefined

  function changed(): void {
    known = undefined
    listeners.tell()
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
    async lookAgain() {
      const told = known
      if (!told) return
      const [before, now] = await Promise.all([told, fetch()])
      if (known === told && JSON.stringify(before) !== JSON.stringify(now)) changed()
    },
    listeners,
  }
}

/** A warning is the only place to report it: the listener is code of the program that opened the toolbox. */
function warn(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  process.emitWarning(`A listener to changes of a toolbox has thrown. ${text}`, 'QuartermasterWarning')
}

/** A client that passes questions on, where the program can answer them. */
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

/** Where `up` listens for MCP, if this can be such a place. */
export function checkedAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol)) throw noAddress(`"${url}" is no address of an "up".`)
  // What stands in an address is shown wherever the address is.
  if (address.username !== '' || address.password !== '')
    throw noAddress(`The address of ${address.host} has a name or a password in it, and takes none: give a token.`)
  return address
}

function noAddress(what: string): AppError {
  return new AppError('CONFIG_INVALID', `${what} It is the mcpUrl that "quartermaster up" prints.`)
}

/** A token, if this can be one: read from a file it may end in a new line. A header that cannot be sent would look as if no server was there. */
export function checkedToken(token: string): string {
  const trimmed = typeof token === 'string' ? token.trim() : ''
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed
  throw new AppError(
    'TOKEN_INVALID',
    `${trimmed ? 'The token has characters that no token has' : 'There is no token'}. Make one: quartermaster tokens create AGENT.`,
  )
}
