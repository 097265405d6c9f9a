import { describe, expect, it } from 'vitest'
import { reasonIn, reasonOf } from './failure-reason.mjs'
import { failureReasons } from './steady-load.mjs'

const OK = 'HTTP/1.1 200 OK'

describe('why a call failed', () => {
  it('is the code and the text of the error it was answered with', () => {
    const error = { code: -32_603, message: 'The server is down.', data: { code: 'DEPENDENCY_UNAVAILABLE' } }
    expect(reasonIn({ head: OK, body: JSON.stringify({ error }) })).toBe('DEPENDENCY_UNAVAILABLE The server is down.')
  })

  it('is the text of a result that is an error, also at the end of a stream', () => {
    const _meta = { 'quartermaster/error': { code: 'OUTCOME_UNKNOWN' } }
    const result = { isError: true, content: [{ type: 'text', text: 'Nobody knows.' }], _meta }
    const body = `data: {"method":"notifications/progress"}\n\ndata: ${JSON.stringify({ result })}\n\n`
    expect(reasonIn({ head: OK, body })).toBe('OUTCOME_UNKNOWN Nobody knows.')
  })

  it('is the status where that says it all, and what the connection said where nothing was answered', () => {
    expect(reasonIn({ head: 'HTTP/1.1 404 Not Found', body: '' })).toBe('HTTP 404 an empty answer')
    expect(reasonOf(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))).toBe('read ECONNRESET')
  })

  it('is told with the number of calls that failed alike, the most frequent first', () => {
    const failures = ['gone', 'slow', 'gone', ...'abcdef']
    const calls = [{ begunAt: 0, endedAt: 1 }, ...failures.map(failure => ({ begunAt: 0, endedAt: 1, failure }))]
    const rows = failureReasons('hub', calls).map(({ what, measured }) => `${what}: ${measured}`)
    expect(rows).toEqual([
      'hub, failed: gone: 2',
      ...['slow', 'a', 'b', 'c'].map(reason => `hub, failed: ${reason}: 1`),
      'hub, failed for 3 other reasons: 3',
    ])
  })
})
