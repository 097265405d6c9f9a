import { z } from 'zod'

// Refuses three names with a meaning on every JavaScript object.
const NAME = /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z0-9_-]{1,64}$/

const RESERVED = /^(?:__proto__|constructor|prototype)$/
const IS_RESERVED = 'must not be "__proto__", "constructor" or "prototype": these words are reserved'
const UNFIT = 'must be 1 to 64 of the characters A–Z a–z 0–9 _ -'

/** 64 characters of this alphabet are accepted by every runtime, so a name is the same everywhere. */
export const Name = z
  .string()
  .regex(NAME, { error: ({ input }) => (RESERVED.test(String(input)) ? IS_RESERVED : UNFIT) })

/** A person, as grants and the audit name them. */
export const PersonName = Name.refine(name => name.toLowerCase() !== 'owner', {
  error: 'must not be "owner": that is the owner of the data folder',
})

/** `files.write`: what a person may have to allow. */
export const ConsentOperationName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+$/, 'must look like "files.write": lower case, parts joined by dots')

/** The caller. Known from a credential, never asserted. */
export const Caller = z.object({
  kind: z.enum(['agent', 'person']),
  /** Two organisations may have workspaces of the same name. */
  organisation: Name,
  name: Name,
  workspace: Name,
})
export type Caller = z.infer<typeof Caller>

// PostgreSQL refuses NUL, and a lone surrogate is changed.
const UNKEEPABLE = /[\0\p{Surrogate}]/u
const ALL_UNKEEPABLE = new RegExp(UNKEEPABLE, 'gu')

/** Whether every database keeps this text unchanged. */
export function isStorable(text: string): boolean {
  return !UNKEEPABLE.test(text)
}

/** The text with a mark for each character that a database would not keep. */
export function toStorable(text: string): string {
  return text.replace(ALL_UNKEEPABLE, '�')
}

/** A text that every database keeps unchanged. */
export const storableText = () => z.string().refine(isStorable, { error: 'must be well-formed text without NUL' })

const isWhole = [Number.isInteger, { error: 'must be a whole number' }] as const

/** A whole number of any size: one that is lowered to a cap need not be exact. */
export const wholeNumber = () =>
  z
    .number()
    .refine(...isWhole)
    .meta({ type: 'integer' })

/** A whole number, lowered to its cap. */
export const cappedWhole = ({ least = 1, most }: { least?: number; most: number }) =>
  wholeNumber().min(least).overwrite(lowerTo(most))

/** The same in a query string. */
export const cappedWholeText = ({ least = 1, most }: { least?: number; most: number }) =>
  z.coerce
    .number()
    .refine(...isWhole)
    .min(least)
    .overwrite(lowerTo(most))
    .meta({ type: 'integer' })

/** Seconds to wait, in a query string. A client that wants to wait longer asks again. */
export const waitSecondsText = ({ most }: { most: number }) => z.coerce.number().min(0).overwrite(lowerTo(most))

function lowerTo(most: number): (wanted: number) => number {
  return wanted => Math.min(wanted, most)
}

// Anything but spaces and characters that take no room or are drawn as nothing.
const SEEN = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Whether a reader of this text sees nothing. */
export function isBlank(text: string): boolean {
  return !SEEN.test(text)
}

/** The code point of a character: `U+0430`. */
export function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** A JSON Schema document, 2020-12 unless it says otherwise. */
export type JsonSchema = { readonly [key: string]: unknown }

// Fields of rows. A missing value is null; times are whole epoch milliseconds.

export const RowId = z.string().min(1).max(128)
export const RowTime = z.number().int().nonnegative()
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')

export const Bytes = z.custom<Uint8Array>(value => value instanceof Uint8Array, 'must be bytes')

export const maybe = <T extends z.ZodType>(schema: T) => schema.nullable().default(null)

/** The columns that say to whom a row belongs, in every table. */
export const rowHead = {
  id: RowId,
  organisation: Name.default('default'),
  workspace: Name,
}

/**
 * The caller on whose behalf something was done. The organisation has no default: if it were missing, the row would belong to
 * another one.
 */
export const rowCaller = {
  organisation: Caller.shape.organisation,
  callerKind: Caller.shape.kind,
  callerName: Name,
}

/** The input and output of control operations. Rows with `persons` are open to persons as well. */
export type ControlTable = Record<string, { input: z.ZodType; output: z.ZodType; persons?: true }>

export const nothing = z.strictObject({})

export const controlPage = {
  limit: z.number().int().min(1).max(1_000).optional(),
  cursor: z.string().max(200).optional(),
}

/** The organisation; the first one when absent. */
export const organisation = Name.optional()

/** A problem at one place of a value. */
export const Issue = z.object({
  /** Property names and indices, from the outside in. */
  path: z.array(z.union([z.string(), z.number()])),
  message: z.string(),
})
export type Issue = z.infer<typeof Issue>

/** An error between processes. */
export const ErrorBody = z.object({
  code: z.string(),
  kind: z.string(),
  retry: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
})
export type ErrorBody = z.infer<typeof ErrorBody>

/** A problem in a definition, an agent or the configuration, with how to fix it. */
export const Problem = z.object({
  severity: z.enum(['error', 'warning']),
  code: z.enum(['DEFINITION_INVALID', 'CONFIG_INVALID', 'AGENT_INVALID']),
  /** The file or source. */
  where: z.string(),
  /** `tool:weather`, `agent:default`. */
  subject: z.string().optional(),
  /** The field, dotted: `input.properties.city`. */
  field: z.string().optional(),
  message: z.string(),
  fix: z.string().optional(),
})
export type Problem = z.infer<typeof Problem>
