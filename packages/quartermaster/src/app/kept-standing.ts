import type { StatusReport, UpstreamStatus } from '../contracts/index.ts'

/** Upstreams as they stand for whoever looks. What was never there, and is tried again by nobody, does not recover. */
export function asKept(statuses: readonly UpstreamStatus[], from: StatusReport['from']): UpstreamStatus[] {
  const isLost = ({ state, unseen }: UpstreamStatus) => state === 'recovering' && unseen !== undefined
  return statuses.map(status => (from === 'process' && isLost(status) ? { ...status, state: 'down' } : status))
}
