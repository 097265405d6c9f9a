/** What a header has in the place of what belongs there; nothing where that is there. Sent, it would pass for a credential. */
export function emptyHeader(name: string, value: string): string | undefined {
  if (value.trim() === '') return 'no value'
  const [scheme] = (/^authorization$/i.test(name) && SCHEME_ALONE.exec(value.trim())) || []
  return scheme && `no token behind "${scheme}"`
}

/** Any other single word may be the credential itself. */
const SCHEME_ALONE = /^(?:bearer|basic|token|digest|dpop|negotiate|bot|api-?key)$/i
