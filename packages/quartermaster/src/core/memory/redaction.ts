import { SECRET_FORMS } from '../kernel/index.ts'
import { keyBlocksIn } from './key-blocks.ts'
import { NAMED_SECRETS } from './named-secrets.ts'
import type { SecretPlace } from './secret-place.ts'
import { isSpared } from './spared-values.ts'

/** A text without its secrets, and how many there were. */
export interface Redacted {
  readonly text: string
  readonly count: number
}

/** What stands where a secret stood. */
export const TAKEN_OUT = '[redacted]'

/**
 * Takes credentials out of a text before it is kept. Only what has the form of one, or stands where one is named: hashes, paths,
 * UUIDs and long words mean something to whoever reads the memory, and one that is eaten is lost.
 */
export function redactSecrets(text: string): Redacted {
  let { text: left, count } = withoutKeyBlocks(text)
  for (const { form, hint, spares = isSpared } of PLACES) {
    if (hint && !hint.test(left)) continue
    left = left.replace(form, (whole: string, ...groups: unknown[]) => {
      const { before = '', after = '' } = (groups.at(-1) ?? {}) as { before?: string; after?: string }
      const value = whole.slice(before.length, whole.length - after.length)
      if (value.includes(TAKEN_OUT) || spares(before, value)) return whole
      count++
      return `${before}${TAKEN_OUT}${after}`
    })
  }
  return { text: left, count }
}

/** Private keys span much and come first: what is taken with them is not looked through for less. */
function withoutKeyBlocks(text: string): Redacted {
  const blocks = text.includes('PRIVATE KEY') ? keyBlocksIn(text) : []
  const kept = blocks.map(({ from }, i) => text.slice(blocks[i - 1]?.to ?? 0, from))
  return { text: [...kept, text.slice(blocks.at(-1)?.to ?? 0)].join(TAKEN_OUT), count: blocks.length }
}

const PLACES: readonly SecretPlace[] = [
  {
    form: /(?<before>\bPrivate-Lines: \d{1,3}\r?\n)(?:[A-Za-z0-9+/=]{1,128}\r?\n){0,128}[A-Za-z0-9+/=]{1,128}(?![^\r\n])/g,
    hint: /Private-Lines/,
  },
  // The private number of a key in JSON.
  { form: /(?<before>"d"\s{0,4}:\s{0,4}")[\w-]{40,1024}(?<after>")/g, hint: /"kty"/ },
  // A password in an address: `postgres://me:pw@db`, but no port.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s/@:]{0,256}:)[^\s/?#]{1,256}(?<after>@)/gi, hint: /:\/\// },
  // A token in the place of the user.
  { form: /(?<before>\b[a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@:.]{20,256}(?<after>@)/gi, hint: /:\/\// },
  // What an address is signed with.
  {
    form: /(?<before>[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token|credential))=)[\w%.~+/=-]{6,2048}/gi,
    hint: /[?&](?:sig|x-)/i,
  },
  // As credentials travel in a header, which may go on in the next line.
  {
    form: /(?<before>\bauthorization["'`]?\s{0,4}[:=]\s{0,32}["'`]?(?:bearer|basic|token|bot|apikey)\s{1,32})[\w.~+/=-]{4,4096}/gi,
    hint: /authorization/i,
  },
  // Where nothing follows it in its line it is no sentence about tokens.
  {
    form: /(?<before>\bauthorization["'`]?\s{0,4}:\s{0,4}["'`]?bearer )(?!tokens?\b|auth|scheme|header)[\w.~+/=-]{4,4096}(?=["'`]{0,2}(?:\r?\n|$))/gi,
    hint: /authorization/i,
    spares: () => false,
  },
  // And elsewhere. "bearer of bad news" is none: these have a digit or are long.
  {
    form: /(?<before>\bbearer(?:\s{1,32}|[:=]\s{0,32})["'`]?)(?=[\w.~+/=-]{0,4096}\d|[\w.~+/=-]{32})[\w.~+/=-]{8,4096}/gi,
    hint: /bearer/i,
  },
  { form: /(?<before>\bbasic\s{1,4})[A-Za-z0-9+/]{8,512}={0,2}(?![\w-])/gi, hint: /basic/i, spares: isNoLogin },
  ...SECRET_FORMS.map(({ source, flags }) => ({ form: new RegExp(source, `${flags}g`) })),
  ...NAMED_SECRETS,
]

/** Basic credentials are a name and a password in base64. "Basic JavaScript" is neither. */
function isNoLogin(_before: string, value: string): boolean {
  try {
    return !/^[\x20-\x39\x3b-\x7e]+:\P{Cc}*$/u.test(atob(value))
  } catch {
    return true
  }
}
