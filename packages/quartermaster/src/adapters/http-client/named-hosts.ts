import { isLoopback } from './address-guard.ts'

/** Throws for an address that a person's credentials must not go to, nor a browser be sent to. */
export function refuseUnsafe(url: URL, { home, isNamed }: { home: URL; isNamed(url: URL): boolean }): void {
  if (url.protocol === 'https:') return
  // What is on the way to the server itself is as safe as the server.
  const isKnown = url.origin === home.origin || (isNamed(url) && isLoopback(url.hostname))
  if (url.protocol === 'http:' && isKnown) return
  throw new TypeError(
    `"${url.origin === 'null' ? url.protocol : url.origin}" is not reached by https:, so nothing is sent there.`,
  )
}

/** Whether the configuration names an address. Whoever names one of this machine's names means the machine. */
export function namedHosts(home: URL, hosts: readonly string[]): (url: URL) => boolean {
  const named = new Set([home.hostname, ...hosts.map(host => host.toLowerCase())])
  if (isLoopback(home.hostname)) for (const name of ['localhost', '127.0.0.1', '[::1]']) named.add(name)
  return ({ hostname }) => named.has(hostname)
}
