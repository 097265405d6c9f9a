import type { z } from 'zod'

type Key = string | number | symbol
type Unrecognised = z.core.$ZodIssueUnrecognizedKeys

/** Strict objects can stand in strict objects; each round removes one layer. */
const MAX_ROUNDS = 16

/**
 * Parses what another version of us sent. Fields that a strict schema does not know are left out instead of refused,
 * because an `up` that is newer than the command line is no mistake. `value` is changed in place.
 */
export function parseLeniently(schema: z.ZodType, value: unknown): z.ZodSafeParseResult<unknown> {
  let parsed = schema.safeParse(value)
  for (let round = 0; round < MAX_ROUNDS && !parsed.success; round++) {
    const unknown = parsed.error.issues.filter(isUnrecognised)
    if (unknown.length === 0) return parsed
    for (const issue of unknown) removeKeys(value, issue)
    parsed = schema.safeParse(value)
  }
  return parsed
}

function isUnrecognised(issue: z.core.$ZodIssue): issue is Unrecognised {
  return issue.code === 'unrecognized_keys'
}

function removeKeys(value: unknown, { path, keys }: Unrecognised): void {
  const holder = path.reduce(at, value)
  if (typeof holder !== 'object' || holder === null) return
  for (const key of keys) Reflect.deleteProperty(holder, key)
}

function at(value: unknown, key: Key): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}
