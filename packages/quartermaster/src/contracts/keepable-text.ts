import { z } from 'zod'

// PostgreSQL has no place for NUL, and half a surrogate pair comes back as something else.
const UNKEEPABLE = /[\0\p{Surrogate}]/u
const ALL_UNKEEPABLE = new RegExp(UNKEEPABLE, 'gu')

/** Whether every database keeps this text as it is. */
export function isKeepable(text: string): boolean {
  return !UNKEEPABLE.test(text)
}

/** The text with a mark for each character that a database would not keep. */
export function toKeepable(text: string): string {
  return text.replace(ALL_UNKEEPABLE, '�')
}

/** A text as every database keeps it. */
export const keepableText = () => z.string().refine(isKeepable, { error: 'must be well-formed text without NUL' })
