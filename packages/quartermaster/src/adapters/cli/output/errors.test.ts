import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { AppError, ERRORS, type ErrorCode } from '../../../contracts/index.ts'
import { createFakeCliHost } from '../../../testing/cli-host.ts'
import { EXIT, EXIT_CODES, runCli } from '../index.ts'

const page = readFileSync(new URL('../../../../../../docs/reference/exit-codes.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| (\d+) \| (.+?) \| (.+) \|$/gm)].map(([, code, kind, meaning]) => ({
  code: Number(code),
  kind,
  meaning,
}))

describe('exit codes', () => {
  it('are the ones people script against', () => {
    expect(EXIT).toEqual({ done: 0, no: 1, usage: 2, waiting: 14 })
    expect(EXIT_CODES).toEqual({
      invalid: 3,
      notFound: 4,
      unavailable: 5,
      timeout: 6,
      consentRequired: 7,
      denied: 8,
      unauthenticated: 9,
      conflict: 10,
      gone: 11,
      tooLarge: 12,
      rateLimited: 13,
      internal: 70,
      cancelled: 130,
    })
  })

  it('are all on their page, and nothing else is', () => {
    const documented = Object.fromEntries(
      rows.filter(row => row.kind !== '-').map(row => [row.kind?.replaceAll('`', ''), row.code]),
    )
    expect(documented).toEqual(EXIT_CODES)
    expect(rows.filter(row => row.kind === '-').map(row => row.code)).toEqual(Object.values(EXIT))
    expect(new Set(rows.map(row => row.code)).size).toBe(rows.length)
  })

  it('stand on their page beside exactly the error codes that lead to them', () => {
    const named = Object.fromEntries(
      rows.flatMap(row =>
        [...(row.meaning ?? '').matchAll(/`([A-Z]+_[A-Z_]+|[A-Z]{6,})`/g)].map(([, name]) => [name, row.code]),
      ),
    )
    const expected = Object.fromEntries(Object.entries(ERRORS).map(([code, { kind }]) => [code, EXIT_CODES[kind]]))
    expect(named).toEqual(expected)
  })

  it.each(Object.keys(ERRORS) as ErrorCode[])('are what a command ends with: %s', async code => {
    const { host, seen } = createFakeCliHost({
      control: { status: () => Promise.reject(new AppError(code, 'Told plainly.')) },
    })
    expect(await runCli(['status'], host)).toBe(EXIT_CODES[ERRORS[code].kind])
    expect(seen.stdout).toBe('')
    expect(seen.stderr).toContain('Error: Told plainly.\n')
    expect(seen.stderr).toContain(`(${code})\n`)
  })
})

it('a call that may be done names the operation to look at', async () => {
  const unknown = new AppError('OUTCOME_UNKNOWN', 'The line broke.', { details: { operationId: 'op_9fGk' } })
  const { host, seen } = createFakeCliHost({ control: { status: () => Promise.reject(unknown) } })
  await runCli(['status'], host)
  expect(seen.stderr).toContain('before you run it again: quartermaster operations show op_9fGk\n')
})
