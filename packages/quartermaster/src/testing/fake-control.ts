import { AppError, CONTROL, type Control, type StatusReport } from '../contracts/index.ts'

/** A `Control` in memory: the given operations, all others fail. */
export function fakeControl(operations: Partial<Control> = {}): Control {
  const absent = (name: string) => () => Promise.reject(new AppError('INTERNAL', `"${name}" has no part in this test.`))
  const all = Object.keys(CONTROL).map(name => [name, absent(name)])
  return { ...(Object.fromEntries(all) as Control), ...operations }
}

/** A status report as a healthy `up` gives it. */
export const STATUS_REPORT: StatusReport = {
  version: '1.2.3',
  ready: true,
  from: 'up',
  startedAt: 1_700_000_000_000,
  generation: 7,
  tools: { active: 2, disabled: 1 },
  agents: 1,
  running: 0,
  dependencies: [],
  problems: [],
}
