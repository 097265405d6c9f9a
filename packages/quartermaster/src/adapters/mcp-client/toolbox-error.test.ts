import {
  MissingRequiredClientCapabilityError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { toolboxError, unanswered } from './toolbox-error.ts'

const url = new URL('http://127.0.0.1:7420/mcp')
const calling = { url, isCall: true }

function answered(status: number, body?: unknown): SdkHttpError {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, { status, text })
}

const refused = new AppError('LIMIT_EXCEEDED', 'The body is too large.', { details: { limit: 5 } })
const { message: detail, ...told } = refused.toJSON()

describe('an HTTP answer to a call', () => {
  it.each([
    ['an error of JSON-RPC', { jsonrpc: '2.0', id: null, error: { code: -32_600, data: refused.toJSON() } }],
    ['a problem document', { type: 'urn:x', title: 'Limit exceeded', status: 413, detail, ...told }],
  ])('is our error in %s, whatever the HTTP status', (_what, body) => {
    for (const status of [400, 403, 404, 413, 429, 500, 503])
      expect(toolboxError(answered(status, body), calling).toJSON()).toEqual(refused.toJSON())
  })

  it.each([
    [403, 'REQUEST_REFUSED'],
    [408, 'DEPENDENCY_UNAVAILABLE'],
    [413, 'LIMIT_EXCEEDED'],
    [502, 'OUTCOME_UNKNOWN'],
  ])('of a proxy with %i is %s, without the page', (status, code) => {
    const error = toolboxError(answered(status, '<html>secret</html>'), calling)
    expect([error.code, error.message]).toEqual([code, expect.not.stringContaining('html')])
    expect(error.message).toContain(`HTTP ${status}`)
  })

  it('with 404 to the first request says which address to use', () => {
    const body = { type: 'urn:x', title: 'x', status: 404, detail, ...told }
    expect(toolboxError(answered(404, body), { url, isCall: false, isFirst: true })).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('Use the mcpUrl'),
    })
  })
})

it('keeps an invalid result apart from a missing answer', () => {
  const odd = new SdkError(SdkErrorCode.InvalidResult, 'Invalid result for tools/call: [{ "code": "invalid_union" }]')
  expect(toolboxError(odd, calling)).toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: `${url.href} sent an invalid MCP result, and may have executed the call.`,
    details: { because: 'OUTPUT_INVALID' },
    cause: odd,
  })
  expect(toolboxError(odd, { url, isCall: false })).toMatchObject({
    code: 'OUTPUT_INVALID',
    message: `${url.href} sent an invalid MCP result.`,
  })
})

it('words an unanswerable question as an in-process toolbox does', () => {
  const message = 'The client cannot answer this, because it does not declare elicitation: "Is "this": it?"'
  const thrown = new MissingRequiredClientCapabilityError({ requiredCapabilities: {} }, message)
  expect(unanswered(thrown, 'ask')?.message).toBe(
    '"ask" has a question, and no person is there to answer it: "Is "this": it?"',
  )
  expect(unanswered(new Error('else'), 'ask')).toBeUndefined()
})
