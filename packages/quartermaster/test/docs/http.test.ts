import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { HTTP_LIMITS, SERVER_LIMITS } from '../../src/adapters/http/limits.ts'
import { CONTROL } from '../../src/contracts/index.ts'
import { readPage, tableBelow } from './pages.ts'

const page = readPage('docs/reference/http.md')

describe('docs/reference/http.md', () => {
  it('has every operation of the control API with its input, and no other', () => {
    const rows = tableBelow(page, '## Control API').map(([operation = '', input = '']) => [operation, input])
    const operations = Object.entries(CONTROL).map(([name, { input }]) => [code(name), fieldsOf(input)])
    expect(rows).toEqual(operations)
  })

  it('has the limits that are in force', () => {
    expect(HTTP_LIMITS).toEqual({ maxBodyBytes: 1024 * 1024, maxJsonDepth: 64, heartbeatMs: 10_000 })
    expect(SERVER_LIMITS).toEqual({
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 30_000,
      keepAliveTimeoutMs: 5_000,
      maxHeaderBytes: 16 * 1024,
      maxConnections: 1_024,
    })
    expect(tableBelow(page, '## Limits').map(row => row[1])).toEqual([
      '1 MiB',
      '64',
      '16 KiB',
      '10 s',
      '30 s',
      '5 s',
      '1,024',
      '5 s',
    ])
  })
})

function fieldsOf(input: z.ZodObject): string {
  return Object.keys(input.shape).map(code).join(', ')
}

function code(text: string): string {
  return `\`${text}\``
}
