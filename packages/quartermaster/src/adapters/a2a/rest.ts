import type { Binding } from './binding.ts'
import { Refusal, restError } from './errors.ts'
import { readJson } from './request-body.ts'

/** Each thing at its own address (§11.3): the path below the workspace, and the query. */
export function rest(path: string, query: URLSearchParams): Binding {
  return {
    async read(request) {
      const route = ROUTES.find(({ pattern }) => pattern.test(path))
      if (!route) throw new Refusal('METHOD_NOT_FOUND', 'There is nothing at this address.')
      const { pattern, methods, name, hasBody = false } = route
      const allowed = methods.join(', ')
      if (!methods.includes(request.method))
        throw new Refusal('METHOD_NOT_ALLOWED', `Only ${allowed} is answered here.`, { Allow: allowed })
      const { id } = pattern.exec(path)?.groups ?? {}
      const params = hasBody ? await readJson(request) : Object.fromEntries(query)
      return { name, params: id === undefined ? params : { ...Object(params), id } }
    },
    async learn() {},
    toData: result => result,
    toFault: restError,
    statusOf: ({ status }) => status,
    contentType: 'application/a2a+json',
  }
}

interface Route {
  readonly pattern: RegExp
  readonly methods: readonly string[]
  /** What JSON-RPC calls it. */
  readonly name: string
  readonly hasBody?: boolean
}

const ROUTES: readonly Route[] = [
  { pattern: /^message:send$/, methods: ['POST'], name: 'SendMessage', hasBody: true },
  { pattern: /^message:stream$/, methods: ['POST'], name: 'SendStreamingMessage', hasBody: true },
  { pattern: /^tasks$/, methods: ['GET'], name: 'ListTasks' },
  { pattern: /^tasks\/(?<id>[^/:]+):cancel$/, methods: ['POST'], name: 'CancelTask' },
  { pattern: /^tasks\/(?<id>[^/:]+):subscribe$/, methods: ['POST', 'GET'], name: 'SubscribeToTask' },
  { pattern: /^tasks\/(?<id>[^/:]+)$/, methods: ['GET'], name: 'GetTask' },
  {
    pattern: /^tasks\/[^/]+\/pushNotificationConfigs(\/[^/]+)?$/,
    methods: ['GET', 'POST', 'DELETE'],
    name: 'TaskPushNotificationConfig',
  },
  { pattern: /^extendedAgentCard$/, methods: ['GET'], name: 'GetExtendedAgentCard' },
]
