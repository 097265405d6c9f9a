import type { UpstreamConfig } from '../../contracts/index.ts'
import { OPTED_OUT } from '../../core/health/index.ts'

/** What is said of one that the owner does not want to run. Whoever tells both knows by the words that they say the same. */
export const SWITCHED_OFF = `${OPTED_OUT} Its entry has "enabled": false or "disabled": true; take that out to switch it on.`

/** Why the configuration does not let it run, if it does not. */
export function offReason({ enabled, wrong }: Pick<UpstreamConfig, 'enabled' | 'wrong'>): string | undefined {
  return wrong ?? (enabled ? undefined : SWITCHED_OFF)
}
