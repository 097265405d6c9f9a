import { createHash } from 'node:crypto'
import { HttpUpstream } from '../../../contracts/index.ts'
import type { Clock } from '../../../core/kernel/index.ts'
import type { StorageAccess } from '../../../core/operations/index.ts'
import { createLeases, type LeaseStore } from '../../../core/store/index.ts'
import { createUpstreamCredentials } from '../../../core/upstreams/credentials.ts'
import { createFakeClock, type FakeClock } from '../../../testing/fake-clock.ts'
import { memoryStorage } from '../../../testing/memory-store.ts'
import type { Resolve } from '../../http-client/index.ts'
import { createIds, silentLog } from '../../system/index.ts'
import { createUpstreamAuth, type UpstreamAuth } from '../oauth/upstream-auth.ts'
import { type HttpEndpoint, httpEndpoint, type Visit } from './http-endpoint.ts'

type Json = Record<string, unknown>

/** What an authorization server says and does that is not as it should be, or not as usual. */
export interface OAuthQuirks {
  /** Over what is said about the authorization server. */
  readonly metadata?: Json | undefined
  /** Answers instead of the metadata of the authorization server. */
  onMetadata?(visit: Visit): boolean
  /** Whether the protected server names no authorization server: it signs people in itself. */
  readonly hasNoResourceMetadata?: boolean
  /** Over what is said about the protected server. */
  readonly resource?: Json
  /** In the challenge of the protected server. */
  readonly challenge?: string
  /** Over what the token endpoint answers. */
  readonly tokens?: Json
  /** Whether the protected server takes a token; the newest alone when absent. */
  takes?(token: string): boolean
  /** Answers authorized requests. */
  serve?(visit: Visit): void
  /** Answers instead of the token endpoint. */
  onToken?(visit: Visit): boolean
}

/** A protected MCP server and its authorization server, at one address. */
export interface OAuthPlace {
  readonly endpoint: HttpEndpoint
  readonly upstream: HttpUpstream
  /** The requests to the token endpoint, as forms. */
  readonly tokenRequests: URLSearchParams[]
  readonly registered: Json[]
  /** What the protected server takes. */
  accept(token: string): void
  /** What a browser would be sent back to after the person has said yes. */
  approve(url: string, change?: (redirect: URL) => void): string
}

export async function oauthPlace(quirks: OAuthQuirks = {}, oauth: Json = {}): Promise<OAuthPlace> {
  const tokenRequests: URLSearchParams[] = []
  const registered: Json[] = []
  const codes = new Map<string, string>()
  let accepted = 'none'
  let issued = 0

  const endpoint: HttpEndpoint = await httpEndpoint(visit => {
    const { origin } = endpoint
    if (visit.path === '/mcp') return protectedAnswer(visit)
    if (visit.path === '/.well-known/oauth-protected-resource/mcp' && !quirks.hasNoResourceMetadata) {
      return visit.json(200, {
        resource: `${origin}/mcp`,
        authorization_servers: [origin],
        scopes_supported: ['read'],
        ...quirks.resource,
      })
    }
    const isMetadata = AT_ISSUER.has(visit.path)
    if (isMetadata && quirks.onMetadata?.(visit)) return
    if (isMetadata) return visit.json(200, { ...metadata(origin), ...quirks.metadata })
    if (visit.path === '/register') {
      registered.push(visit.body)
      return visit.json(201, { ...visit.body, client_id: 'made' })
    }
    if (visit.path === '/token') return token(visit)
    return visit.json(404)
  })

  function protectedAnswer(visit: Visit): void {
    const token = visit.headers.authorization?.replace('Bearer ', '') ?? ''
    if (quirks.takes?.(token) ?? token === accepted) return (quirks.serve ?? (one => one.result({ ok: true })))(visit)
    visit.json(401, undefined, { 'www-authenticate': quirks.challenge ?? 'Bearer' })
  }

  function token(visit: Visit): void {
    const form = new URLSearchParams(visit.text)
    tokenRequests.push(form)
    if (quirks.onToken?.(visit)) return
    const grant = form.get('grant_type')
    if (grant === 'authorization_code' && !redeem(form)) return visit.json(400, { error: 'invalid_grant' })
    if (grant === 'refresh_token' && form.get('refresh_token') !== `refresh-${issued}`)
      return visit.json(400, { error: 'invalid_grant' })
    issued++
    accepted = `access-${issued}`
    visit.json(200, {
      access_token: accepted,
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: `refresh-${issued}`,
      ...quirks.tokens,
    })
  }

  /** A code is good once, and only with the verifier of its challenge. */
  function redeem(form: URLSearchParams): boolean {
    const code = form.get('code') ?? ''
    const challenge = codes.get(code)
    codes.delete(code)
    return (
      challenge ===
      createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
    )
  }

  return {
    endpoint,
    upstream: HttpUpstream.parse({ url: endpoint.url, oauth }),
    tokenRequests,
    registered,
    accept(next) {
      accepted = next
    },
    approve(url, change = () => {}) {
      const { searchParams } = new URL(url)
      const code = `code-${codes.size + 1}`
      codes.set(code, searchParams.get('code_challenge') ?? '')
      const redirect = new URL(searchParams.get('redirect_uri') ?? '')
      redirect.searchParams.set('code', code)
      redirect.searchParams.set('state', searchParams.get('state') ?? '')
      change(redirect)
      return redirect.href
    },
  }
}

/** Where an authorization server says something about itself. */
const AT_ISSUER = new Set(['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'])

function metadata(origin: string): Json {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    // As OpenID Connect has it besides.
    jwks_uri: `${origin}/keys`,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

export const OWNER = { upstream: 'tracker' }

/** Where tokens come from in one process, and what it shares with others on the same store, if there are any. */
export function authOn(
  storage: StorageAccess,
  { clock, place, resolve }: { clock: Clock; place?: LeaseStore | undefined; resolve?: Resolve | undefined },
): UpstreamAuth {
  const ids = createIds()
  const leases = createLeases({ clock, log: silentLog, leaseMs: 30_000, place: async () => place })
  return createUpstreamAuth({
    credentials: createUpstreamCredentials({ storage, clock, ids }),
    leases,
    clock,
    ids,
    resolve,
  })
}

/** Where logins are kept and tokens come from. */
export function authFixture(options: { resolve?: Resolve } = {}): {
  readonly auth: UpstreamAuth
  readonly clock: FakeClock
  readonly storage: ReturnType<typeof memoryStorage>
  /** The same store, seen by a process that starts now. */
  restarted(): UpstreamAuth
} {
  const clock = createFakeClock()
  const storage = memoryStorage()
  const build = () => authOn(storage, { clock, ...options })
  return { auth: build(), clock, storage, restarted: build }
}
