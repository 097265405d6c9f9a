import type { UpstreamConfig } from '../../contracts/index.ts'

/** What is said of one that the owner does not want to run. */
export const SWITCHED_OFF =
  'It is switched off in the configuration: its entry says "enabled": false or "disabled": true.'

/** Why the configuration does not let it run, if it does not. */
export function offReason({ enabled, wrong }: Pick<UpstreamConfig, 'enabled' | 'wrong'>): string | undefined {
  return wrong ?? (enabled ? undefined : SWITCHED_OFF)
}
