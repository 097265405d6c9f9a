import type { HttpUpstream } from '../../../contracts/index.ts'

/** The setting that is sent in place of a login. */
export function keyBeforeLogin(config: HttpUpstream, agent: string | undefined): string | undefined {
  if (agent !== undefined) return isAgentKnownByKey(config, agent) ? `agents.${agent}.headers.Authorization` : undefined
  if (!isKnownByKey(config)) return undefined
  return identifiesCaller(config.headers) ? 'headers.Authorization' : 'url'
}

/** Whether the entry has a key for all agents, where a token would be sent. */
export function isKnownByKey({ url, headers }: HttpUpstream): boolean {
  const { username, password } = new URL(url)
  return identifiesCaller(headers) || username !== '' || password !== ''
}

/** Whether it has one for this agent only. */
export function isAgentKnownByKey({ agents }: HttpUpstream, agent: string): boolean {
  return Object.hasOwn(agents, agent) && identifiesCaller(agents[agent]?.headers ?? {})
}

function identifiesCaller(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'authorization')
}
