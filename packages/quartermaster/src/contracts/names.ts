import { z } from 'zod'

// The three words that mean something to every JavaScript object are nobody's name.
const NAME = /^(?!(?:__proto__|constructor|prototype)$)[A-Za-z0-9_-]{1,64}$/

const RESERVED = /^(?:__proto__|constructor|prototype)$/
const IS_RESERVED = 'must not be "__proto__", "constructor" or "prototype": these words are reserved'
const UNFIT = 'must be 1 to 64 of the characters A–Z a–z 0–9 _ -'

/** 64 characters of this alphabet are accepted by every runtime we hand tools to, so a name is the same everywhere. */
export const Name = z
  .string()
  .regex(NAME, { error: ({ input }) => (RESERVED.test(String(input)) ? IS_RESERVED : UNFIT) })
export type Name = z.infer<typeof Name>

/** A person, as grants and the audit name them. */
export const PersonName = Name.refine(name => name.toLowerCase() !== 'owner', {
  error: 'must not be "owner": that is whoever has the data folder',
})
export type PersonName = z.infer<typeof PersonName>

/** `files.write`: what a person may have to allow. */
export const ConsentOperationName = z
  .string()
  .regex(/^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)+$/, 'must look like "files.write": lower case, parts joined by dots')
