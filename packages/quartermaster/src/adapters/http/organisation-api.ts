import { type Context, Hono } from 'hono'
import {
  API,
  type ApiOperation,
  type ApiRequest,
  type ApiRoute,
  AppError,
  DEFAULT_ORGANISATION,
  issueText,
  type Settings,
} from '../../contracts/index.ts'
import { type Clock, createInFlight, createRateLimit, fewIssues } from '../../core/kernel/index.ts'
import type { OrganisationDesk, Visitor } from '../../core/organisation/index.ts'
import { bearerIn, leaveWhenClosed } from './admin.ts'
import { methodNotAllowed, unsupportedMediaType } from './control-api.ts'
import type { HttpApp, HttpEnv } from './env.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import type { HttpLimits } from './limits.ts'
import { openApiDocument } from './openapi.ts'
import { isJson, readJsonBody } from './request-body.ts'

/** What the API is answered with. */
export interface OrganisationDoor {
  readonly desk: OrganisationDesk
  /** Whose token this is, by what counts at this moment. */
  identify(token: string): Promise<Visitor | undefined>
  /** Throws `NAME_UNKNOWN` when there is no such organisation. */
  expectOrganisation(name: string): Promise<void>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'requestsPerMinute' | 'requestsAtOnce' | 'joinAttemptsPerMinute'>
}

export interface OrganisationApiOptions extends OrganisationDoor {
  isAdmin(token: string): boolean
  readonly limits: HttpLimits
  readonly report: ErrorReporter
  readonly version: string
}

/** Every row of the `API` table as a route, and the document that describes them. */
export function organisationApi(options: OrganisationApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  // Made when somebody asks: it would be a good part of the start.
  let document: string | undefined
  const limits = createLimits(options)
  const methods = new Map<string, string[]>([['/openapi.json', ['GET']]])
  api.get('/openapi.json', () => {
    document ??= JSON.stringify(openApiDocument({ version: options.version }))
    return new Response(document, { headers: { 'Content-Type': 'application/json' } })
  })
  for (const [operation, { method, path }] of Object.entries(API)) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    api.on(method, pattern, c => answer(c, operation as ApiOperation, { ...options, takeTurn: limits }))
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
  }
  for (const [pattern, allowed] of methods) api.all(pattern, methodNotAllowed(allowed.map(withHead).join(', ')))
  return api
}

function withHead(method: string): string {
  return method === 'GET' ? 'GET, HEAD' : method
}

type TakeTurn = (c: Context<HttpEnv>, visitor: Visitor | undefined) => void

/** Each token has turns and places of its own; whoever has none shares those of its address. */
function createLimits({ clock, settings }: OrganisationDoor): TakeTurn {
  const requests = createRateLimit({ clock, perMinute: settings.requestsPerMinute, what: 'requests' })
  const tries = createRateLimit({ clock, perMinute: settings.joinAttemptsPerMinute, what: 'attempts' })
  const inFlight = createInFlight({ most: settings.requestsAtOnce, what: 'requests under way' })
  return (c, visitor) => {
    const key = visitor ? keyOf(visitor) : `address ${c.env.incoming.socket.remoteAddress ?? ''}`
    const limit = visitor ? requests : tries
    limit.take(key)
    leaveWhenClosed(c, inFlight.enter(key))
  }
}

function keyOf(visitor: Visitor): string {
  return visitor.kind === 'owner' ? 'owner' : `token ${visitor.tokenId}`
}

interface Answering extends OrganisationApiOptions {
  readonly takeTurn: TakeTurn
}

async function answer(c: Context<HttpEnv>, operation: ApiOperation, options: Answering): Promise<Response> {
  const { desk, report, takeTurn } = options
  const route: ApiRoute = API[operation]
  try {
    const first = await visitorOf(c, route, options)
    // Who is refused has had a turn too, or could ask as often as they like.
    if (first || route.who.includes('anyone')) takeTurn(c, first)
    refuseOthers(c, first)
    desk.admit(first, operation)
    if (route.body && !isJson(c.req.header('content-type'))) return unsupportedMediaType()
    const request = await readRequest(c, route, options)
    // Looked at again: the body may have taken its time, and a token that was taken back meanwhile does not count.
    const visitor = route.body ? await visitorOf(c, route, options) : first
    const answered = await desk.answer(operation, visitor, request as ApiRequest<typeof operation>, contextOf(c))
    return Response.json(answered, { status: route.status ?? 200 })
  } catch (error) {
    // The framework's own handler sees nothing that is not an Error.
    return problemResponse(report(error))
  }
}

/** Whose token a request shows, and which organisation is meant. Everybody but the owner has exactly one. */
async function visitorOf(c: Context<HttpEnv>, { who }: ApiRoute, doors: Answering): Promise<Visitor | undefined> {
  if (who.includes('anyone')) return undefined
  const token = bearerIn(c)
  if (token === undefined) return undefined
  if (doors.isAdmin(token)) {
    const organisation = c.req.query('organisation') ?? DEFAULT_ORGANISATION
    await doors.expectOrganisation(organisation)
    return { kind: 'owner', organisation }
  }
  return doors.identify(token)
}

/** To everybody but the owner there is one organisation. */
function refuseOthers(c: Context<HttpEnv>, visitor: Visitor | undefined): void {
  const named = c.req.query('organisation')
  if (visitor && named !== undefined && named !== visitor.organisation)
    throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
}

async function readRequest(c: Context<HttpEnv>, route: ApiRoute, { limits }: Answering) {
  const params = parsed('path', route.params, c.req.param())
  const query = parsed('query', route.query, c.req.query())
  if (!route.body) return { params, query, body: undefined }
  return { params, query, body: parsed('body', route.body, await readJsonBody(c.req.raw, limits)) }
}

function parsed(where: string, schema: NonNullable<ApiRoute['body']>, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issues = fewIssues(result.error.issues.map(({ path, message }) => ({ path: [where, ...path], message })))
  throw new AppError('INPUT_INVALID', issues.map(issueText).join(' '), { details: { issues } })
}

/** `Host` has been checked; a proxy that ends TLS says so. */
function contextOf(c: Context<HttpEnv>): { origin: string } {
  const scheme = c.req.header('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return { origin: new URL(`${scheme}://${c.req.header('host') ?? 'localhost'}`).origin }
}
