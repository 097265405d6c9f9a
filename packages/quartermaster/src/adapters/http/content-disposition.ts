import { LONGEST_ATTACHMENT_NAME } from '../../contracts/index.ts'
import { percentDecoded } from './percent-decoded.ts'

/** The file name that a Content-Disposition header says (RFC 6266): `filename*` before `filename`. */
export function fileNameIn(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const extended = /;\s*filename\*\s*=\s*utf-8'[\w-]*'([^;\s]+)/i.exec(header)?.[1]
  // Not UTF-8 after all is as if it had not been said.
  const name = extended === undefined ? undefined : percentDecoded(extended)
  if (name !== undefined) return name
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1]
  if (quoted !== undefined) return fromLatin1(quoted.replaceAll(/\\(.)/g, '$1'))
  const token = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(header)?.[1]
  return token === undefined ? undefined : fromLatin1(token)
}

/**
 * Tells a browser to save it under this name, and never to show it. Whatever could mean more than a name to a file system or
 * turn the reading order around is replaced; a name in ASCII goes with it for those who read no other (RFC 6266, appendix D).
 */
export function savedAs(name: string): string {
  const safe = harmless(name)
  const plain = safe.replaceAll(/[^\x20-\x7e]|["\\%]/gu, '_')
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(safe)}`
}

/** Control characters, marks of direction, separators of paths, and what Windows keeps for itself. */
const UNSAFE = /[\p{Cc}\p{Surrogate}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff/\\:*?"<>|]/gu

function harmless(name: string): string {
  const safe = Array.from(name.replaceAll(UNSAFE, '_')).slice(0, LONGEST_ATTACHMENT_NAME).join('')
  // Names of dots alone are places, and a leading one hides a file.
  const shown = safe.replace(/^[.\s]+/, '_').replace(/[.\s]+$/, '')
  return shown === '' ? 'file' : shown
}

/** `attr-char` of RFC 5987 §3.2.1 stays; `encodeURIComponent` leaves a few more alone. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/['()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Headers are bytes; many clients send UTF-8 in them. */
function fromLatin1(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
  const utf8 = bytes.toString('utf8')
  return utf8.includes('\ufffd') ? text : utf8
}
