import type { HttpUpstream } from '../../../contracts/index.ts'

/** The setting in place of which a login would be sent, and is not. */
export function keyBeforeLogin(config: HttpUpstream, agent: string | undefined): string | undefined {
  if (agent !== undefined) return isAgentKnownByKey(config, agent) ? `agents.${agent}.headers.Authorization` : undefined
  if (!isKnownByKey(config)) return undefined
  return namesSomebody(config.headers) ? 'headers.Authorization' : 'url'
}

/** Whether the entry says who everybody is there, in the place where a token would be. */
export function isKnownByKey({ url, headers }: HttpUpstream): boolean {
  const { username, password } = new URL(url)
  return namesSomebody(headers) || username !== '' || password !== ''
}

/** Whether it says so of one agent alone. */
export function isAgentKnownByKey({ agents }: HttpUpstream, agent: string): boolean {
  return Object.hasOwn(agents, agent) && namesSomebody(agents[agent]?.headers ?? {})
}

function namesSomebody(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'authorization')
}
