import { describe, expect, it } from 'vitest'
import { EXIT_CODES } from '../../src/adapters/cli/errors.ts'
import { STATUS } from '../../src/adapters/http/errors.ts'
import { ERRORS } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

// Programs compare these words, so a change here is a change for them.
const CODES = [
  'TOOL_NOT_FOUND notFound never',
  'TOOL_DISABLED unavailable later',
  'PROMPT_NOT_FOUND notFound never',
  'RESOURCE_NOT_FOUND notFound never',
  'READING_FAILED internal later',
  'INPUT_INVALID invalid never',
  'OUTPUT_INVALID internal never',
  'CONSENT_REQUIRED consentRequired afterApproval',
  'CONSENT_DENIED denied never',
  'DEADLINE_EXCEEDED timeout later',
  'CANCELLED cancelled later',
  'DEPENDENCY_UNAVAILABLE unavailable later',
  'DEPENDENCY_UNKNOWN notFound never',
  'OUTCOME_UNKNOWN unavailable verifyFirst',
  'UPSTREAM_ERROR internal never',
  'ANSWER_UNAVAILABLE unavailable never',
  'AGENT_NOT_FOUND notFound never',
  'AGENT_INVALID invalid never',
  'CAPABILITY_UNKNOWN notFound never',
  'CONFIG_INVALID invalid never',
  'DEFINITION_INVALID invalid never',
  'NAME_UNKNOWN notFound never',
  'NAME_AMBIGUOUS invalid never',
  'NAME_TAKEN conflict never',
  'RESULT_NOT_FOUND notFound never',
  'TOKEN_INVALID unauthenticated never',
  'LOGIN_FAILED denied later',
  'REQUEST_REFUSED denied never',
  'CURSOR_GONE gone never',
  'EDIT_CONFLICT conflict later',
  'IDEMPOTENCY_CONFLICT conflict never',
  'LIMIT_EXCEEDED tooLarge never',
  'RATE_LIMITED rateLimited later',
  'PEER_NOT_FOUND notFound never',
  'DELEGATION_LOOP conflict never',
  'DELEGATION_ENDED conflict never',
  'STORE_LOCKED conflict later',
  'STORE_BUSY rateLimited later',
  'STORE_UNAVAILABLE unavailable later',
  'STOPPING unavailable later',
  'INTERNAL internal later',
]

const page = readPage('docs/reference/errors.md')
const SECTION = /^### (\w+)\n\nKind `(\w+)`, retry `(\w+)`\.\n\n\S/gm

describe('docs/reference/errors.md', () => {
  it('explains every code, and no other', () => {
    const explained = [...page.text.matchAll(SECTION)].map(([, code, kind, retry]) => `${code} ${kind} ${retry}`)
    expect(explained).toEqual(CODES)
    expect([...page.text.matchAll(/^### /gm)]).toHaveLength(CODES.length)
  })

  it('says what the table of errors says', () => {
    expect(Object.entries(ERRORS).map(([code, { kind, retry }]) => `${code} ${kind} ${retry}`)).toEqual(CODES)
  })

  it('has every kind with its HTTP status and its exit code', () => {
    const rows = tableBelow(page, '## Kinds').map(([kind = '', status, exit]) => [
      kind.replaceAll('`', ''),
      status,
      exit,
    ])
    const kinds = Object.entries(STATUS).map(([kind, status]) => [
      kind,
      String(status),
      String(EXIT_CODES[kind as keyof typeof STATUS]),
    ])
    expect(rows).toEqual(kinds)
  })

  it('explains every piece of advice that a code gives', () => {
    const advice = tableBelow(page, '## Retry advice').map(([retry = '']) => retry.replaceAll('`', ''))
    expect(new Set(advice)).toEqual(new Set(Object.values(ERRORS).map(error => error.retry)))
  })
})
