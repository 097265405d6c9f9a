import { describe, expect, it } from 'vitest'
import type { Message } from '../../mcp-wire/index.ts'
import { type RefusedRequest, readRefusal } from './http-failure.ts'

const CALL: Message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'read' } }

const LIST: Message = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

/** What becomes of a call, or of something else, that is answered with this status. */
function refusal(
  status: number,
  given: { headers?: Record<string, string>; body?: unknown; hasSession?: boolean; message?: Message } = {},
) {
  const { headers = {}, body, hasSession = false, message = CALL } = given
  const answer = { status, headers } as unknown as RefusedRequest['answer']
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)
  const now = Date.UTC(2023, 10, 14, 22, 13, 20)
  return readRefusal({ message, answer, text, hasSession, now })
}

const said = (message: string, id: unknown = null) => ({ jsonrpc: '2.0', id, error: { code: -32_000, message } })

describe('a request that is answered with an HTTP error', () => {
  it.each([500, 502, 503, 504])('may have been sent when the answer is %i', status => {
    expect(refusal(status).failure).toMatchObject({ wasSent: 'maybe', status })
  })

  it.each([
    [429, '7', 7_000],
    [503, '100000', 24 * 3_600_000],
    [503, '99999999999', 24 * 3_600_000],
    [503, 'Tue, 14 Nov 2023 22:13:25 GMT', 5_000],
    [503, 'Tue, 14 Nov 2023 22:13:15 GMT', 1_000],
    [429, '0', 1_000],
    [429, 'soon', 1_000],
    [429, '-5', 1_000],
    [429, '1.5', 1_000],
    [429, undefined, 1_000],
  ])('was not sent when the server is busy: %i with Retry-After %s', (status, header, retryAfterMs) => {
    const headers: Record<string, string> = header === undefined ? {} : { 'retry-after': header }
    expect(refusal(status, { headers }).failure).toMatchObject({ wasSent: 'no', status, retryAfterMs })
  })

  it.each([{}, { 'retry-after': 'soon' }])(
    'may have been sent when a 503 does not say when to come back: %j',
    headers => {
      expect(refusal(503, { headers }).failure).toMatchObject({ wasSent: 'maybe', status: 503, retryAfterMs: 1_000 })
    },
  )

  it.each([302, 400, 403, 404, 405, 413])('was refused for good when the answer is %i', status => {
    expect(refusal(status).failure).toMatchObject({ wasSent: 'refused', status })
  })

  it.each([408, 425])('was not sent when the server did not take it in: %i', status => {
    expect(refusal(status).failure).toMatchObject({ wasSent: 'no', status })
  })

  it.each([
    [400, -32_020],
    [404, -32_601],
    [500, -32_603],
  ])('is answered with the error that comes with %i', (status, code) => {
    const body = { jsonrpc: '2.0', id: 2, error: { code, message: 'no' } }
    expect(refusal(status, { body }).response).toEqual(body)
  })

  it('is answered with an error that names no request, because it was the only one', () => {
    expect(refusal(400, { body: said('no') }).response).toMatchObject({ id: 2, error: { code: -32_000 } })
  })
})

describe('a session in which a request is answered with an HTTP error', () => {
  it.each([
    [400, said('Bad Request: No valid session ID provided')],
    [400, said('Bad Request: Missing session ID', 'server-error')],
    [400, said('Session not found')],
    [400, 'Invalid session ID\n'],
    [404, said('Session not found')],
    [404, said('Not Found: Session has been terminated')],
    [404, '{"error":"Session not found"}'],
    [404, said('The session has expired')],
    [404, said('Invalid or expired session. Please re-initialize the session.', 2)],
  ])(
    'is lost when the server says to a listing that it has forgotten it (%i, %j), and in doubt when it says so to a call',
    (status, body) => {
      expect(refusal(status, { body, hasSession: true, message: LIST })).toMatchObject({
        failure: { wasSent: 'no' },
        end: { kind: 'sessionLost' },
      })
      const { failure, end } = refusal(status, { body, hasSession: true })
      expect([failure, end]).toMatchObject([{ wasSent: 'turnedAway', status, isSaid: true }, undefined])
    },
  )

  it.each([undefined, said('Not found'), '{"error":"Checkout session not found"}'])(
    'is in doubt with a 404 that does not say so: %j',
    body => {
      const { failure, end } = refusal(404, { body, hasSession: true })
      expect([failure.wasSent, failure.status, end]).toEqual(['turnedAway', 404, undefined])
    },
  )

  it.each([
    [400, said('The session of the shop is not valid', 2)],
    [400, said('Session not found', 2)],
    [400, said('The argument "session" is missing')],
    [400, said('No session of this kind is planned')],
    [400, said('Invalid session token of the shop')],
    [404, said('Issue 17 not found', 2)],
    [404, said('Paid, but the checkout session has expired', 2)],
  ])('goes on when it is the request that a server finds wrong: %i with %j', (status, body) => {
    const { response, end } = refusal(status, { body, hasSession: true })
    expect([response?.error?.message, end]).toEqual([body.error.message, undefined])
  })
})
