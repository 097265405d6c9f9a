import { AppError, type UpstreamConfig, type UpstreamState, type UpstreamStatus } from '../../contracts/index.ts'
import { OPTED_OUT } from '../../core/health/index.ts'
import { neededLogin } from '../../core/kernel/index.ts'
import { packageRunsOf } from '../../core/shell/index.ts'

/** Shown for an upstream that the owner disabled. Others recognise this text. */
export const SWITCHED_OFF = `${OPTED_OUT} Its entry has "enabled": false or "disabled": true; take that out to switch it on.`

/** Why the configuration does not let it run, if it does not. */
export function offReason({ enabled, wrong }: Pick<UpstreamConfig, 'enabled' | 'wrong'>): string | undefined {
  return wrong ?? (enabled ? undefined : SWITCHED_OFF)
}

/** For any action on a wrong entry. */
export function wrongEntry(name: string, wrong: string): AppError {
  return new AppError('CONFIG_INVALID', `The upstream "${name}" cannot be used. ${wrong}`)
}

/**
 * The download of a program such as npx before its first start may take so long. An interrupted one may leave a
 * half-filled cache, with which no later start works either.
 */
export const DOWNLOAD_MS = 5 * 60_000

/** Whether its launcher may have to download it first. */
export function mayDownload(config: UpstreamConfig): boolean {
  return 'command' in config && packageRunsOf(config.command, config.args).length > 0
}

/** How long a start may take; the first one with a download takes longest. */
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

/** The same for one that has not answered yet, and is not kept running. */
export function begunStep(name: string): string {
  return `Wait for it: quartermaster upstreams restart ${name}, or: quartermaster up`
}

/** Nothing to do but wait. */
const COMES: ReadonlySet<UpstreamState> = new Set(['starting', 'up', 'elsewhere'])
