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
  isStorable,
  issueText,
  type Settings,
} from '../../contracts/index.ts'
import {
  type AccessGuard,
  type CancelSignal,
  type Clock,
  createInFlight,
  createRateLimit,
  firstIssues,
  watchAccess,
  whileAdmitted,
} from '../../core/kernel/index.ts'
import type { ApiCaller, ApiService, RequestContext } from '../../core/organisation/index.ts'
import { EVENT_HEADERS, eventAnswer, writeAnswer } from './answers.ts'
import { readUpload, sendDownload } from './attachment-wire.ts'
import { methodNotAllowed, unsupportedMediaType } from './control-api.ts'
import { type ErrorReporter, problemResponse } from './errors.ts'
import { bearerIn, leaveWhenClosed, limitInFlight, requireAdmin } from './guard.ts'
import { openApiDocument } from './openapi.ts'
import {
  disconnectSignal,
  type HttpApp,
  type HttpEnv,
  type HttpLimits,
  isJson,
  percentDecoded,
  readJsonBody,
} from './request.ts'

/** What the API needs: its service, the callers' identities and the limits. */
export interface ApiAccess {
  readonly service: ApiService
  /** The caller of a token, as long as the token is valid. */
  identify(token: string): Promise<ApiCaller | undefined>
  /** Throws `NAME_UNKNOWN` when there is no such organisation. */
  expectOrganisation(name: string): Promise<void>
  /** Calls back when a token or a workspace may have ended, so that waiting requests and streams are checked again. */
  onAccessChange?(check: () => void): () => void
  /** Releases the messages that a waiting request was about to get, when its token is no longer valid. */
  releaseMessages?(tokenId: string): Promise<void>
  readonly clock: Clock
  readonly settings: Pick<Settings, 'requestsPerMinute' | 'requestsAtOnce' | 'joinAttemptsPerMinute'>
}

interface ApiOptions extends ApiAccess {
  isAdmin(token: string): boolean
  readonly limits: HttpLimits
  readonly report: ErrorReporter
  readonly version: string
}

/** Every row of the `API` table as a route, and the document that describes them. */
export function createApi(options: ApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  // Made on the first request, because it would slow the start down.
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

type TakeTurn = (c: Context<HttpEnv>, caller: ApiCaller | undefined) => void

/** Limits count by token; callers without one are counted by their address. */
function createLimits({ clock, settings }: ApiAccess): TakeTurn {
  const requests = createRateLimit({ clock, perMinute: settings.requestsPerMinute, what: 'requests' })
  const tries = createRateLimit({ clock, perMinute: settings.joinAttemptsPerMinute, what: 'attempts' })
  const inFlight = createInFlight({ most: settings.requestsAtOnce, what: 'requests under way' })
  return (c, caller) => {
    const key = caller ? keyOf(caller) : `address ${c.env.incoming.socket.remoteAddress ?? ''}`
    const limit = caller ? requests : tries
    limit.take(key)
    leaveWhenClosed(c, inFlight.enter(key))
  }
}

function keyOf(caller: ApiCaller): string {
  return caller.kind === 'owner' ? 'owner' : `token ${caller.tokenId}`
}

interface Answering extends ApiOptions {
  readonly takeTurn: TakeTurn
}

async function answer(c: Context<HttpEnv>, operation: ApiOperation, options: Answering): Promise<Response> {
  const { service, report, takeTurn } = options
  const route: ApiRoute = API[operation]
  try {
    refuseUnkeepable(c)
    const first = await callerOf(c, route, options)
    // Refused requests count too, otherwise they would not be limited.
    if (first || route.who.includes('anyone')) takeTurn(c, first)
    refuseOtherOrganisation(c, first)
    service.authorize(first, operation)
    if (route.body && !isJson(c.req.header('content-type'))) return unsupportedMediaType()
    const request = await readRequest(c, route, options)
    // Identified again: the token may have been revoked while the body was read.
    const caller = route.body ? await callerOf(c, route, options) : first
    const guard = guardOf(c, operation, options)
    const upload = route.wire === 'upload' ? readUpload(c, guard.stillAdmitted) : undefined
    const input = { ...request, upload } as ApiRequest<typeof operation>
    const output = await whileAdmitted({ ...guard, gone: disconnectSignal(c.env.outgoing) }, gone =>
      service.answer(operation, caller, input, contextOf(c, gone)),
    ).catch(error => releaseAfter(error, caller, options))
    if (route.wire === 'download') return await download(c, output as ApiDownload, guard)
    if (route.wire === 'events') return stream(c, output as ApiEvents, { ...guard, report })
    if (route.wire === 'markdown' && wantsMarkdown(c)) return sendMarkdown(c, output as { text: string })
    return sendJson(c, output, route.status ?? 200)
  } catch (error) {
    // The framework's own handler gets only instances of Error.
    return problemResponse(report(error))
  }
}

interface Guard extends AccessGuard {
  stillAdmitted(): Promise<void>
}

/** Checks whether a caller is still admitted, at intervals and on changes of access. */
function guardOf(c: Context<HttpEnv>, operation: ApiOperation, options: Answering): Guard {
  const { service, clock, limits, onAccessChange = () => () => {} } = options
  const stillAdmitted = async () => service.authorize(await callerOf(c, API[operation], options), operation)
  return { clock, pingMs: limits.pingMs, stillAdmitted, onAccessChange }
}

/** Releases what was reserved for a waiting caller whose token is no longer valid. */
async function releaseAfter(
  error: unknown,
  caller: ApiCaller | undefined,
  { releaseMessages, report }: Answering,
): Promise<never> {
  const tokenId = caller?.kind === 'owner' ? undefined : caller?.tokenId
  if (tokenId !== undefined && isAppError(error) && error.code === 'TOKEN_INVALID')
    // If this fails, the lease ends when its time is over.
    await releaseMessages?.(tokenId).catch(report)
  throw error
}

/** Writes the text directly, because a `Response` and its stream cost more than most answers. */
function sendJson(c: Context<HttpEnv>, output: unknown, status: number): Response {
  if (c.req.method === 'HEAD') return Response.json(output, { status })
  writeAnswer({ status, headers: JSON_HEADERS, text: JSON.stringify(output) }, c.env.outgoing)
  return RESPONSE_ALREADY_SENT
}

/** JSON is the default where a client names or prefers neither. */
function wantsMarkdown(c: Context<HttpEnv>): boolean {
  const accepted = c.req.header('accept') ?? ''
  return weightOf(accepted, MARKDOWN) > weightOf(accepted, JSON_TYPES)
}

const MARKDOWN = /^text\/(?:markdown|plain)$/i
const JSON_TYPES = /^(?:application|\*)\/(?:json|\*)$/i

/** The highest quality value of these types in an Accept header, from 0 to 1. */
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

/** The stream ends when the caller is no longer admitted. */
function stream(c: Context<HttpEnv>, events: ApiEvents, guard: Guard & { readonly report: ErrorReporter }): Response {
  if (c.req.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS })
  writeAnswer(eventAnswer({ events, ...guard }), c.env.outgoing)
  return RESPONSE_ALREADY_SENT
}

/** The download ends when the caller is no longer admitted. */
async function download(c: Context<HttpEnv>, file: ApiDownload, guard: Guard): Promise<Response> {
  const stop = watchAccess(guard, () => c.env.outgoing.destroy())
  try {
    return await sendDownload(c, file)
  } finally {
    stop()
  }
}

/** The caller of a request, in an organisation. Only the owner can name one; all others have exactly one. */
async function callerOf(c: Context<HttpEnv>, { who }: ApiRoute, access: Answering): Promise<ApiCaller | undefined> {
  if (who.includes('anyone')) return undefined
  const token = bearerIn(c)
  if (token === undefined) return undefined
  if (access.isAdmin(token)) {
    const organisation = c.req.query('organisation') ?? DEFAULT_ORGANISATION
    await access.expectOrganisation(organisation)
    return { kind: 'owner', organisation }
  }
  return access.identify(token)
}

/** Other organisations do not exist for a caller. */
function refuseOtherOrganisation(c: Context<HttpEnv>, caller: ApiCaller | undefined): void {
  const named = c.req.query('organisation')
  if (caller && named !== undefined && named !== caller.organisation)
    throw new AppError('NAME_UNKNOWN', 'There is no such organisation.')
}

/** Refuses text that databases cannot store, because some of them fail on it even in a query. */
function refuseUnkeepable(c: Context<HttpEnv>): void {
  const issues = [
    ...Object.entries(c.req.param()).map(([name, text]) => ({ path: ['path', name], text })),
    ...Object.entries(c.req.queries()).map(([name, texts]) => ({ path: ['query', name], text: texts.join('') })),
  ].flatMap(({ path, text }) => (isStorable(text) ? [] : [{ path, message: 'must be well-formed text without NUL' }]))
  if (issues.length > 0) throw invalid(issues)
  if (!isUtf8(c.req.url)) throw invalid([{ path: [], message: 'The address must be UTF-8 where it has %XX' }])
}

/** Otherwise the framework would keep the percent signs as text, which no client means. */
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

function invalid(all: Parameters<typeof firstIssues>[0]): AppError {
  const issues = firstIssues(all)
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
 * `GET` answers every capability with its tools and configuration schema. It includes capabilities that an agent may not know of,
 * so it takes the admin token; an agent sees its own tools over MCP.
 */
export function capabilitiesApi({ control, isAdmin, limits, report }: CapabilitiesApiOptions): HttpApp {
  const api = new Hono<HttpEnv>()
  api.use('*', requireAdmin(isAdmin), limitInFlight(limits.maxInFlight))
  api.get('/', async c => {
    try {
      return c.json(await control.capabilities({}, { signal: c.req.raw.signal }))
    } catch (error) {
      // The framework's own handler gets only instances of Error.
      return problemResponse(report(error))
    }
  })
  api.all('/', methodNotAllowed('GET, HEAD'))
  return api
}
