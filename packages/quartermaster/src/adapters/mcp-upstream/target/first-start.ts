import type { UpstreamConfig } from '../../../contracts/index.ts'
import { packageRunsOf } from '../../../core/shell/index.ts'

/**
 * What a program such as npx downloads before it can start may take so long. One that is ended in the midst of it may leave a
 * half-filled cache behind, with which no later start works either.
 */
export const DOWNLOAD_MS = 5 * 60_000

/** Whether it is started by a program that may have to download it first. */
export function mayDownload(config: UpstreamConfig): boolean {
  return 'command' in config && packageRunsOf(config.command, config.args).length > 0
}

/** How long a start may take; the first of what has to be downloaded takes longer than all others. */
export function startMsOf(config: UpstreamConfig, { isDownloaded }: { isDownloaded: boolean }): number {
  const ms = config.startSeconds * 1000
  return isDownloaded || !mayDownload(config) ? ms : Math.max(ms, DOWNLOAD_MS)
}
