import { AppError } from '../../contracts/index.ts'

/** Where `up` listens for MCP, if this can be such a place. */
export function checkedAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol)) throw noAddress(`"${url}" is no address of an "up".`)
  // What stands in an address is shown wherever the address is.
  if (address.username !== '' || address.password !== '')
    throw noAddress(`The address of ${address.host} has a name or a password in it, and takes none: give a token.`)
  return address
}

function noAddress(what: string): AppError {
  return new AppError('CONFIG_INVALID', `${what} It is the mcpUrl that "quartermaster up" prints.`)
}

/** A token, if this can be one: read from a file it may end in a new line. A header that cannot be sent would look as if nobody was there. */
export function checkedToken(token: string): string {
  const trimmed = typeof token === 'string' ? token.trim() : ''
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed
  throw new AppError(
    'TOKEN_INVALID',
    `${trimmed ? 'The token has characters that no token has' : 'There is no token'}. Make one: quartermaster tokens create AGENT.`,
  )
}
