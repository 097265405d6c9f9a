import type { UpstreamConfig } from '../../contracts/index.ts'
import type { Redact } from './secret-texts.ts'

/** Where a server is, for people: the program and its arguments, or the address. */
export function targetText(config: UpstreamConfig, redact: Redact): string {
  if (config.wrong !== undefined) return ''
  return redact('url' in config ? addressOf(config.url) : [config.command, ...config.args].join(' '))
}

/** The rest of an address may hold a key. */
function addressOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
