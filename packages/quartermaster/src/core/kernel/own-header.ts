const OWN =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept-encoding|proxy-.*)$/i

/** Whether a header frames a message or belongs to a single connection, so that it is the machinery's and nobody else's. */
export function isOwnHeader(name: string): boolean {
  return OWN.test(name)
}
