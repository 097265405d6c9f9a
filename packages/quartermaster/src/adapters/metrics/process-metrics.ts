import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createReading, type Instrument } from './instruments.ts'

/** What this process costs, under the names that dashboards for Node expect. */
export interface ProcessMetrics {
  readonly instruments: readonly Instrument[]
  stop(): void
}

/** How exactly the event loop is watched. Finer would wake an idle process more often than all the rest of it. */
const RESOLUTION_MS = 50

export function createProcessMetrics(): ProcessMetrics {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) || 0
  return {
    instruments: [
      createReading({ name: 'process_cpu_seconds_total', help: 'Processor time used.' }, cpuSeconds, 'counter'),
      createReading({ name: 'process_start_time_seconds', help: 'When the process started, since the epoch.' }, () =>
        Math.round(performance.timeOrigin / 1e3),
      ),
      createReading({ name: 'process_resident_memory_bytes', help: 'Memory held.' }, () => process.memoryUsage.rss()),
      createReading(
        { name: 'nodejs_heap_size_used_bytes', help: 'Heap in use.' },
        () => process.memoryUsage().heapUsed,
      ),
      createReading(
        {
          name: 'nodejs_eventloop_lag_seconds',
          help: 'How late timers ran since the last look.',
          labels: ['quantile'],
        },
        () => {
          const lags = [
            [['0.5'], seconds(delay.percentile(50))],
            [['0.99'], seconds(delay.percentile(99))],
            [['1'], seconds(delay.max)],
          ] as const
          delay.reset()
          return lags
        },
      ),
    ],
    stop: () => delay.disable(),
  }
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
