import type { StatusReport, UpstreamStatus } from '../contracts/index.ts'

/** Upstreams as they stand for whoever looks. What is tried again by nobody does not recover. */
export function asKept(statuses: readonly UpstreamStatus[], from: StatusReport['from']): UpstreamStatus[] {
  const isLost = ({ state }: UpstreamStatus) => from === 'process' && state === 'recovering'
  return statuses.map(status => (isLost(status) ? { ...status, state: 'down' } : status))
}
