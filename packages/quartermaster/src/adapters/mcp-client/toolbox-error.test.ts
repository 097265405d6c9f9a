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

describe('an answer of HTTP to a call', () => {
  it.each([
    ['an error of JSON-RPC', { jsonrpc: '2.0', id: null, error: { code: -32_600, data: refused.toJSON() } }],
    ['a problem document', { type: 'urn:x', title: 'Limit exceeded', status: 413, detail, ...told }],
  ])('is what %s of ours in it says, whatever its status', (_what, body) => {
    for (const status of [400, 403, 404, 413, 429, 500, 503])
      expect(toolboxError(answered(status, body), calling).toJSON()).toEqual(refused.toJSON())
  })

  it.each([
    [302, 'REQUEST_REFUSED'],
    [400, 'REQUEST_REFUSED'],
    [403, 'REQUEST_REFUSED'],
    [408, 'DEPENDENCY_UNAVAILABLE'],
    [413, 'LIMIT_EXCEEDED'],
    [429, 'RATE_LIMITED'],
    [500, 'OUTCOME_UNKNOWN'],
    [502, 'OUTCOME_UNKNOWN'],
  ])('of somebody in between with %i is %s, and shows nobody the page', (status, code) => {
    const error = toolboxError(answered(status, '<html>secret</html>'), calling)
    expect([error.code, error.message]).toEqual([code, expect.not.stringContaining('html')])
    expect(error.message).toContain(`HTTP ${status}`)
  })

  it.each([404, 405])('with %i at the very first says which address to use', status => {
    const body = { type: 'urn:x', title: 'x', status, detail, ...told }
    expect(toolboxError(answered(status, body), { url, isCall: false, isFirst: true })).toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('Use the mcpUrl'),
    })
  })
})

it('does not take an answer that is no result for none', () => {
  const odd = new SdkError(SdkErrorCode.InvalidResult, 'Invalid result for tools/call: [{ "code": "invalid_union" }]')
  expect(toolboxError(odd, calling)).toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: `${url.href} answered what is no result of MCP, and may have done what was asked.`,
    details: { because: 'OUTPUT_INVALID' },
    cause: odd,
  })
  expect(toolboxError(odd, { url, isCall: false })).toMatchObject({
    code: 'OUTPUT_INVALID',
    message: `${url.href} answered what is no result of MCP.`,
  })
})

it('tells a tool that nobody answers in the words of a toolbox in its process', () => {
  const message = 'The client cannot answer this, because it does not declare elicitation: "Is "this": it?"'
  const thrown = new MissingRequiredClientCapabilityError({ requiredCapabilities: {} }, message)
  expect(unanswered(thrown, 'ask')?.message).toBe(
    '"ask" has a question, and no person is there to answer it: "Is "this": it?"',
  )
  expect(unanswered(new Error('else'), 'ask')).toBeUndefined()
})
