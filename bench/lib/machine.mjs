// @ts-check
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from 'node:os'

/** Where the figures come from; without it they say little. */
export function describeMachine() {
  const [cpu] = cpus()
  return {
    cpu: cpu?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    platform: `${platform()} ${arch()}`,
    node: process.version,
    /** Above the number of cores, others were measured as well. */
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
  }
}
