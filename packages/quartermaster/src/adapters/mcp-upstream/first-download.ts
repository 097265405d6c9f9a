import type { UpstreamConfig } from '../../contracts/index.ts'
import type { Acquaintance } from './acquaintance/acquaintance.ts'
import type { Offer } from './offer/offer.ts'
import type { Connections } from './supervision/connections.ts'
import { ANNOUNCED } from './supervision/life.ts'
import { mayDownload } from './target/first-start.ts'

export interface DownloadParts {
  readonly connections: Pick<Connections, 'main'>
  readonly acquaintance: Pick<Acquaintance, 'isMet'>
  readonly offer: Pick<Offer, 'verdict'>
}

/** Whether it has never been met, and the program that starts it may have to download it first. */
export function mayNeedDownload(
  { acquaintance }: Pick<DownloadParts, 'acquaintance'>,
  config: UpstreamConfig,
): boolean {
  return config.enabled && !acquaintance.isMet() && mayDownload(config)
}

/** What is said of one that comes for the first time, or has yet to, and may have to be downloaded. Nothing of any other. */
export function downloadReason(parts: DownloadParts, config: UpstreamConfig): string | undefined {
  const { connections, offer } = parts
  const { kind, reason, downSince } = connections.main.state()
  // What went wrong before says more.
  if (!mayNeedDownload(parts, config) || downSince !== undefined) return undefined
  if (reason === ANNOUNCED) return `${reason} What it runs may have to be downloaded first.`
  if (kind === 'starting') return `${reason} It may be downloading what it runs.`
  // A command that does not need it does not begin with a download. Another one may have started it, and told how that ended.
  const isLeft = kind === 'idle' && !offer.verdict() && !connections.main.lastError()
  return isLeft ? 'It does not run. What it runs may have to be downloaded first.' : undefined
}
