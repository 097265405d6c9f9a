import { isRecord, type Notification, type Params, type Request, type Response } from '../mcp-wire/index.ts'
import type { Incoming } from './exchange-parts.ts'

/** What a client has set up in its session, so that another session can be given the same. */
export interface LegacyMemory {
  /** The client's own `initialize`. */
  initialize(): Request | undefined
  /** Whether the client has said that it is ready. */
  isInitialized(): boolean
  noteRequest(request: Request, answer: Response): void
  noteNotification(incoming: Incoming<Notification>): void
  /** The requests that bring another session to where this one was. */
  replay(): Request[]
}

export const INITIALIZED: Notification = { jsonrpc: '2.0', method: 'notifications/initialized' }

export function createLegacyMemory(): LegacyMemory {
  const subscribed = new Map<unknown, Params>()
  let initialize: Request | undefined
  let isInitialized = false
  let level: Params | undefined
  return {
    initialize: () => initialize,
    isInitialized: () => isInitialized,
    noteRequest(request, { result }) {
      if (result === undefined) return
      const { method, params = {} } = request
      if (method === 'initialize') [initialize, isInitialized] = [request, false]
      if (method === 'resources/subscribe') subscribed.set(params.uri, params)
      if (method === 'resources/unsubscribe') subscribed.delete(params.uri)
      if (method === 'logging/setLevel') level = params
    },
    noteNotification({ message }) {
      if (message.method === INITIALIZED.method) isInitialized = true
    },
    replay() {
      const wanted = [
        ...[...subscribed.values()].map(params => ({ method: 'resources/subscribe', params })),
        ...(level ? [{ method: 'logging/setLevel', params: level }] : []),
      ]
      return wanted.map((request, index) => ({ jsonrpc: '2.0', id: `quartermaster-connect:${index}`, ...request }))
    },
  }
}

const LISTS = ['tools', 'resources', 'prompts']

/** Notices that everything a server lists may have changed. */
export function listChanges(capabilities: Params): Notification[] {
  const announced = LISTS.filter(list => {
    const capability = capabilities[list]
    return isRecord(capability) && capability.listChanged === true
  })
  return announced.map(list => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` }))
}
