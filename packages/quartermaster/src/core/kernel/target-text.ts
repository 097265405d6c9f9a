import type { UpstreamConfig } from '../../contracts/index.ts'
import type { Redact } from './secret-texts.ts'
import { separateSecrets } from './separate-secrets.ts'

/** Where a server is, for people: the program and its arguments, or the address. What looks like a credential is left out. */
export function targetText(config: UpstreamConfig, redact: Redact): string {
  if (config.wrong !== undefined) return ''
  const { command, args, url } = separateSecrets('', config).entry
  const text = typeof url === 'string' ? addressOf(url) : [command, ...(Array.isArray(args) ? args : [])].join(' ')
  // Where it stands a credential of three letters is known too; masked everywhere, it would leave nothing to read.
  return redact(masked(text))
}

/** The program alone, for people. Where a whole line was written for it, what looks like a credential in that is left out. */
export function commandText(command: string): string {
  return masked(String(separateSecrets('', { command }).entry['command']))
}

function masked(text: string): string {
  return text.replace(/\$\{secret:[^}]*\}/g, '[secret]')
}

/** Without whoever signs in and what is asked for: either may be a key, whatever it looks like. */
function addressOf(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/s, '')
}
