import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import {
  API,
  type ApiDownload,
  type ApiEvents,
  type ApiOperation,
  type ApiRequest,
  type ApiRoute,
  AppError,
  type Control,
  DEFAULT_ORGANISATION,
  isAppError,
  isKeepable,
  issueText,
  type Settings,
} from '../../contracts/index.ts'
import {
  type AccessGuard,
  type CancelSignal,
  type Clock,
  createInFlight,
  createRateLimit,
  fewIssues,
  watchAccess,
  whileAdmitted,
} from '../../core/kernel/index.ts'
import type { ApiCaller, ApiService, RequestContext } from '../../core/organisation/index.ts'
import { EVENT_HEADERS, eventAnswer, writeAnswer } from './answers.ts'
import { readUpload, sendDownload } from './attachment-wire.ts'
import { disconnectSignal, type HttpApp, type HttpEnv, percentDecoded } from './context.ts'
import { methodNotAllowed, unsupportedMediaType } from './control-api.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import { bearerIn, type HttpLimits, leaveWhenClosed, limitInFlight, requireAdmin } from './guard.ts'
import { openApiDocument } from './openapi.ts'
import { isJson, readJsonBody } from './request.ts'

/** What the API is answered with. */
export interface ApiDoor {
  readonly service: ApiService
  /** Whose token this is, by what counts at this moment. */
  identify(token: string): Promise<ApiCaller | undefined>
  /** Throws `NAME_UNKNOWN` when there is no such organisation. */
  expectOrganisation(name: string): Promise<void>
  /** Calls back when a token or a workspace may have ended: each request that waits for or follows something with it is checked again. */
  onAccessChange?(look: () => void): () => void
  /** The request that waited with this token was rejected: what it was about to get is there for others. */
  letGo?(tokenId: string): Promise<void>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'requestsPerMinute' | 'requestsAtOnce' | 'joinAttemptsPerMinute'>
}

interface ApiOptions extends ApiDoor {
  isAdmin(token: string): boolean
  readonly limits: HttpLimits
  readonly report: ErrorReporter
  readonly version: string
}

/** Every row of the `API` table as a route, and the document that describes them. */
export function createApi(options: ApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  // Made on the first request: it would take a good part of the start.
  let document: string | undefined
  const answering: Answering = { ...options, takeTurn: createLimits(options) }
  const methods = new Map<string, string[]>([['/openapi.json', ['GET']]])
  api.get('/openapi.json', () => {
    document ??= JSON.stringify(openApiDocument({ version: options.version }))
    return new Response(document, { headers: { 'Content-Type': 'application/json' } })
  })
  for (const [operation, { method, path }] of Object.entries(API)) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    api.on(method, pattern, c => answer(c, operation as ApiOperation, answering))
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
  }
  for (const [pattern, allowed] of methods) api.all(pattern, methodNotAllowed(allowed.map(withHead).join(', ')))
  return api
}

function withHead(method: string): string {
  return method === 'GET' ? 'GET, HEAD' : method
}

type TakeTurn = (c: Context<HttpEnv>, visitor: ApiCaller | undefined) => void

/** Each token has turns and places of its own; a caller without one shares those of its address. */
function createLimits({ clock, settings }: ApiDoor): TakeTurn {
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

function keyOf(visitor: ApiCaller): string {
  return visitor.kind === 'owner' ? 'owner' : `token ${visitor.tokenId}`
}

interface Answering extends ApiOptions {
  readonly takeTurn: TakeTurn
}

async function answer(c: Context<HttpEnv>, operation: ApiOperation, options: Answering): Promise<Response> {
  const { service, report, takeTurn } = options
  const route: ApiRoute = API[operation]
  try {
    refuseUnkeepable(c)
    const first = await visitorOf(c, route, options)
    // Who is refused has had a turn too, or could ask as often as they like.
    if (first || route.who.includes('anyone')) takeTurn(c, first)
    refuseOthers(c, first)
    service.admit(first, operation)
    if (route.body && !isJson(c.req.header('content-type'))) return unsupportedMediaType()
    const request = await readRequest(c, route, options)
    // Looked at again: the body may have taken its time, and a token that was taken back meanwhile does not count.
    const visitor = route.body ? await visitorOf(c, route, options) : first
    const guard = guardOf(c, operation, options)
    const upload = route.wire === 'upload' ? readUpload(c, guard.stillAdmitted) : undefined
    const asked = { ...request, upload } as ApiRequest<typeof operation>
    const answered = await whileAdmitted({ ...guard, gone: disconnectSignal(c.env.outgoing) }, gone =>
      service.answer(operation, visitor, asked, contextOf(c, gone)),
    ).catch(error => sentAway(error, visitor, options))
    if (route.wire === 'download') return await download(c, answered as ApiDownload, guard)
    if (route.wire === 'events') return stream(c, answered as ApiEvents, { ...guard, report })
    if (route.wire === 'markdown' && wantsMarkdown(c)) return sendMarkdown(c, answered as { text: string })
    return sendJson(c, answered, route.status ?? 200)
  } catch (error) {
    // The framework's own handler sees nothing that is not an Error.
    return problemResponse(report(error))
  }
}

interface Guard extends AccessGuard {
  stillAdmitted(): Promise<void>
}

/** Whether this one may still be here, and when to look. */
function guardOf(c: Context<HttpEnv>, operation: ApiOperation, options: Answering): Guard {
  const { service, clock, limits, onAccessChange = () => () => {} } = options
  const stillAdmitted = async () => service.admit(await visitorOf(c, API[operation], options), operation)
  return { clock, pingMs: limits.pingMs, stillAdmitted, onAccessChange }
}

/** Nothing is kept for a caller that has waited and may not have it. */
async function sentAway(error: unknown, visitor: ApiCaller | undefined, { letGo, report }: Answering): Promise<never> {
  const tokenId = visitor?.kind === 'owner' ? undefined : visitor?.tokenId
  if (tokenId !== undefined && isAppError(error) && error.code === 'TOKEN_INVALID')
    // What could not be given back is free when its time is over.
    await letGo?.(tokenId).catch(report)
  throw error
}

/** Written out as it is, because a `Response` and its stream cost more than most of what they carry. */
function sendJson(c: Context<HttpEnv>, answered: unknown, status: number): Response {
  if (c.req.method === 'HEAD') return Response.json(answered, { status })
  writeAnswer({ status, headers: JSON_HEADERS, text: JSON.stringify(answered) }, c.env.outgoing)
  return RESPONSE_ALREADY_SENT
}

/** A client that names neither, or prefers neither, gets JSON, as everywhere. */
function wantsMarkdown(c: Context<HttpEnv>): boolean {
  const accepted = c.req.header('accept') ?? ''
  return weightOf(accepted, MARKDOWN) > weightOf(accepted, JSON_TYPES)
}

const MARKDOWN = /^text\/(?:markdown|plain)$/i
const JSON_TYPES = /^(?:application|\*)\/(?:json|\*)$/i

/** How much one of these is wanted, from 0 to 1. */
function weightOf(accepted: string, types: RegExp): number {
  const weights = accepted.split(',').map(range => {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim())
    const weight = parameters.find(part => /^q=/i.test(part))?.slice(2) ?? '1'
    return types.test(type) ? Number(weight) || 0 : 0
  })
  return Math.max(...weights)
}

function sendMarkdown(c: Context<HttpEnv>, { text }: { text: string }): Response {
  if (c.req.method === 'HEAD') return new Response(null, { headers: MARKDOWN_HEADERS })
  writeAnswer({ status: 200, headers: MARKDOWN_HEADERS, text }, c.env.outgoing)
  return RESPONSE_ALREADY_SENT
}

const MARKDOWN_HEADERS = { 'content-type': 'text/markdown; charset=utf-8', vary: 'Accept' }
const JSON_HEADERS = { 'content-type': 'application/json' }

/** A stream stays open for as long as the caller may follow it. */
function stream(c: Context<HttpEnv>, events: ApiEvents, guard: Guard & { readonly report: ErrorReporter }): Response {
  if (c.req.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
  writeAnswer(eventAnswer({ events, ...guard }), c.env.outgoing)
  return RESPONSE_ALREADY_SENT
}

/** A reader that takes its time gets a file for as long as it may have it. */
async function download(c: Context<HttpEnv>, file: ApiDownload, guard: Guard): Promise<Response> {
  const stop = watchAccess(guard, () => c.env.outgoing.destroy())
  try {
    return await sendDownload(c, file)
  } finally {
    stop()
  }
}

/** Whose token a request shows, and which organisation is meant. Everybody but the owner has exactly one. */
async function visitorOf(c: Context<HttpEnv>, { who }: ApiRoute, doors: Answering): Promise<ApiCaller | undefined> {
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
function refuseOthers(c: Context<HttpEnv>, visitor: ApiCaller | undefined): void {
  const named = c.req.query('organisation')
  if (visitor && named !== undefined && named !== visitor.organisation)
    throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
}

/** What no database keeps is not in any, and some take it ill to be asked for it. */
function refuseUnkeepable(c: Context<HttpEnv>): void {
  const issues = [
    ...Object.entries(c.req.param()).map(([name, text]) => ({ path: ['path', name], text })),
    ...Object.entries(c.req.queries()).map(([name, texts]) => ({ path: ['query', name], text: texts.join('') })),
  ].flatMap(({ path, text }) => (isKeepable(text) ? [] : [{ path, message: 'must be well-formed text without NUL' }]))
  if (issues.length > 0) throw invalid(issues)
  if (!isUtf8(c.req.url)) throw invalid([{ path: [], message: 'The address must be UTF-8 where it has %XX' }])
}

/** What is not would count as it is written, percent signs and all, which no client means. */
function isUtf8(address: string): boolean {
  return (address.match(/(?:%[0-9a-f]{2})+/gi) ?? []).every(text => percentDecoded(text) !== undefined)
}

async function readRequest(c: Context<HttpEnv>, route: ApiRoute, { limits: usual }: Answering) {
  const params = parsed('path', route.params, c.req.param())
  const query = parsed('query', route.query, c.req.query())
  if (!route.body) return { params, query, body: undefined }
  const limits = { ...usual, maxBodyBytes: route.bodyBytes ?? usual.maxBodyBytes }
  return { params, query, body: parsed('body', route.body, await readJsonBody(c, limits)) }
}

function parsed(where: string, schema: NonNullable<ApiRoute['body']>, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalid(result.error.issues.map(issue => ({ ...issue, path: [where, ...issue.path] })))
}

function invalid(all: Parameters<typeof fewIssues>[0]): AppError {
  const issues = fewIssues(all)
  return new AppError('INPUT_INVALID', issues.map(issueText).join(' '), { details: { issues } })
}

/** `Host` has been checked; a proxy that ends TLS says so. */
function contextOf(c: Context<HttpEnv>, gone: CancelSignal): RequestContext {
  const scheme = c.req.header('x-forwarded-proto') === 'https' ? 'https' : 'http'
  const { origin } = new URL(`${scheme}://${c.req.header('host') ?? 'localhost'}`)
  return { origin, gone, lastEventId: c.req.header('last-event-id') }
}

interface CapabilitiesApiOptions {
  control: Pick<Control, 'capabilities'>
  isAdmin: (token: string) => boolean
  limits: Pick<HttpLimits, 'maxInFlight'>
  report: ErrorReporter
}

/**
 * `GET` answers every capability with its tools and configuration schema. It names what no single agent may know of, so
 * it takes the admin token; an agent sees its own tools over MCP.
 */
export function capabilitiesApi({ control, isAdmin, limits, report }: CapabilitiesApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  api.use('*', requireAdmin(isAdmin), limitInFlight(limits.maxInFlight))
  api.get('/', async c => {
    try {
      return c.json(await control.capabilities({}, { signal: c.req.raw.signal }))
    } catch (error) {
      // The framework's own handler sees nothing that is not an Error.
      return problemResponse(report(error))
    }
  })
  api.all('/', methodNotAllowed('GET, HEAD'))
  return api
}
