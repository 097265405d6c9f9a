import { z } from 'zod'
import { Caller } from './agent.ts'
import { Name } from './names.ts'

// What rows are made of. What a row may leave out is null; times are whole epoch milliseconds.

export const RowId = z.string().min(1).max(128)
export const RowTime = z.number().int().nonnegative()
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')

/** What is kept byte by byte. */
export const Bytes = z.custom<Uint8Array>(value => value instanceof Uint8Array, 'must be bytes')

export const maybe = <T extends z.ZodType>(schema: T) => schema.nullable().default(null)

/** Whose row it is. Every row says so, in every table. */
export const place = {
  id: RowId,
  organisation: Name.default('default'),
  workspace: Name,
}

/** On whose behalf something was done. Of which organisation is never assumed: forgotten, it would be another's. */
export const caller = {
  organisation: Caller.shape.organisation,
  callerKind: Caller.shape.kind,
  callerName: Name,
}
