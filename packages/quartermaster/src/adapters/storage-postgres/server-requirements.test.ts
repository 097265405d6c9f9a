import { describe, expect, it } from 'vitest'
import { requireFit } from './connector.ts'

describe('the requirements of a server', () => {
  const THERE = { text: 'there', named: 'DATABASE_URL' } as const
  const FIT = {
    version: 150_004,
    synchronousCommit: 'on',
    fsync: 'on',
    encoding: 'UTF8',
    isStandby: false,
    schema: 'public',
    schemaKey: 1,
  }

  it.each([
    [{ version: 140_012 }, /PostgreSQL 14, and 15 is the oldest/],
    [{ encoding: 'SQL_ASCII' }, /encoding is SQL_ASCII/],
  ])('reject %o', (change, message) => {
    expect(() => requireFit(FIT, THERE)).not.toThrow()
    expect(() => requireFit({ ...FIT, ...change }, THERE)).toThrow(message)
  })
})
