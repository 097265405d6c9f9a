import { looksLikeSecret, separateSecrets } from '../../../core/secrets/index.ts'

/** What the configuration of a server says of how we are known there. */
export interface SentKeys {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Where in its entry a header stands; under `headers` when absent. */
  settingOf?(header: string): string
}

/** The settings in the entry of a server that hold a key to it. */
export function keySettings({ url, headers, settingOf = header => `headers.${header}` }: SentKeys): string[] {
  const isKey = ([name, value]: [string, string]) => /^authorization$/i.test(name) || looksLikeSecret(name, value)
  // Names of headers are the same in capitals and not, and of two the last is sent.
  const sent = new Map(Object.entries(headers).map(header => [header[0].toLowerCase(), header]))
  const named = [...sent.values()].filter(isKey)
  const isInUrl = Object.keys(separateSecrets('', { url }).secrets).length > 0
  return [...named.map(([name]) => settingOf(name)), ...(isInUrl ? ['url'] : [])]
}
