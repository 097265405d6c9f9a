import {
  AppError,
  type HttpUpstream,
  type UpstreamConfig,
  type UpstreamState,
  type UpstreamStatus,
} from '../../contracts/index.ts'
import { OPTED_OUT } from '../../core/health/index.ts'
import { neededLogin } from '../../core/kernel/index.ts'
import { packageRunsOf } from '../../core/shell/index.ts'

/** Shown for an upstream that the owner disabled. Other modules compare this text. */
export const SWITCHED_OFF = `${OPTED_OUT} Its entry has "enabled": false or "disabled": true; take that out to switch it on.`

/** Why the configuration keeps the upstream from running, if it does. */
export function offReason({ enabled, wrong }: Pick<UpstreamConfig, 'enabled' | 'wrong'>): string | undefined {
  return wrong ?? (enabled ? undefined : SWITCHED_OFF)
}

export function wrongEntry(name: string, wrong: string): AppError {
  return new AppError('CONFIG_INVALID', `The upstream "${name}" cannot be used. ${wrong}`)
}

/**
 * Time for a package runner such as npx to download a program. An interrupted download may leave a damaged cache,
 * with which no later start works either.
 */
export const DOWNLOAD_MS = 5 * 60_000

export function mayDownload(config: UpstreamConfig): boolean {
  return 'command' in config && packageRunsOf(config.command, config.args).length > 0
}

/** How long a start may take; a first one with a download takes longest. */
export function startMsOf(config: UpstreamConfig, { isDownloaded }: { isDownloaded: boolean }): number {
  const ms = config.startSeconds * 1000
  return isDownloaded || !mayDownload(config) ? ms : Math.max(ms, DOWNLOAD_MS)
}

/** What a person can do to connect to a server for the first time. */
export function unseenStep({
  name,
  state,
  reason,
  hasSpoken,
}: Pick<UpstreamStatus, 'name' | 'state' | 'reason' | 'hasSpoken'>): string {
  if (state === 'needsLogin') return neededLogin({ name, reason })
  if (COMES.has(state)) return 'See how it is: quartermaster upstreams'
  if (state === 'idle') return `Have it started: quartermaster upstreams restart ${name}, or: quartermaster up`
  if (hasSpoken) return `See what it said: quartermaster logs ${name}`
  return `Try it now: quartermaster upstreams restart ${name}`
}

/** Like `unseenStep`, for a server that is starting and is not kept running. */
export function begunStep(name: string): string {
  return `Wait for it: quartermaster upstreams restart ${name}, or: quartermaster up`
}

const COMES: ReadonlySet<UpstreamState> = new Set(['starting', 'up', 'elsewhere'])

/** The setting that is sent in place of a login. */
export function keyBeforeLogin(config: HttpUpstream, agent: string | undefined): string | undefined {
  if (agent !== undefined) return isAgentKnownByKey(config, agent) ? `agents.${agent}.headers.Authorization` : undefined
  if (!isKnownByKey(config)) return undefined
  return identifiesCaller(config.headers) ? 'headers.Authorization' : 'url'
}

export function isKnownByKey({ url, headers }: HttpUpstream): boolean {
  const { username, password } = new URL(url)
  return identifiesCaller(headers) || username !== '' || password !== ''
}

export function isAgentKnownByKey({ agents }: HttpUpstream, agent: string): boolean {
  return Object.hasOwn(agents, agent) && identifiesCaller(agents[agent]?.headers ?? {})
}

function identifiesCaller(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'authorization')
}
