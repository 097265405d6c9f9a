import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Label names with their values, in the order of the instrument's labels. */
type LabelValues = readonly string[]

/** One line of an exposition: the suffix of the metric's name, its labels, its value. */
export interface Sample {
  readonly suffix?: '_bucket' | '_sum' | '_count'
  readonly labels: readonly (readonly [name: string, value: string])[]
  readonly value: number
}

export interface Instrument {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Iterable<Sample>
}

interface Described {
  readonly name: string
  /** One sentence for the reader of a dashboard. */
  readonly help: string
  readonly labels?: readonly string[]
}

interface Counter extends Instrument {
  add(values?: LabelValues, amount?: number): void
}

export function createCounter({ name, help, labels = [] }: Described): Counter {
  const counts = new Map<string, { values: LabelValues; count: number }>()
  return {
    name,
    help,
    type: 'counter',
    add(values = [], amount = 1) {
      const key = values.join(SEPARATOR)
      const entry = counts.get(key)
      if (entry) entry.count += amount
      else counts.set(key, { values, count: amount })
    },
    *samples() {
      // A counter that appears only with its first event would hide that event from every rate.
      if (labels.length === 0 && counts.size === 0) yield { labels: [], value: 0 }
      for (const { values, count } of counts.values()) yield { labels: pair(labels, values), value: count }
    },
  }
}

/** Reads the current value; for a counter, one that another part counts. */
export function createReading(
  { name, help, labels = [] }: Described,
  read: () => number | Iterable<readonly [values: LabelValues, value: number]>,
  type: 'gauge' | 'counter' = 'gauge',
): Instrument {
  return {
    name,
    help,
    type,
    *samples() {
      const found = read()
      if (typeof found === 'number') yield { labels: [], value: found }
      else for (const [values, value] of found) yield { labels: pair(labels, values), value }
    },
  }
}

/** Sorts measured values into buckets. */
interface Histogram extends Instrument {
  observe(values: LabelValues, value: number): void
}

export function createHistogram({
  name,
  help,
  labels = [],
  buckets,
}: Described & { buckets: readonly number[] }): Histogram {
  const series = new Map<string, { values: LabelValues; counts: number[]; sum: number; count: number }>()
  return {
    name,
    help,
    type: 'histogram',
    observe(values, value) {
      const key = values.join(SEPARATOR)
      const entry = series.get(key) ?? { values, counts: buckets.map(() => 0), sum: 0, count: 0 }
      series.set(key, entry)
      entry.sum += value
      entry.count++
      const bucket = buckets.findIndex(bound => value <= bound)
      if (bucket !== -1) entry.counts[bucket] = (entry.counts[bucket] ?? 0) + 1
    },
    *samples() {
      for (const { values, counts, sum, count } of series.values()) {
        const own = pair(labels, values)
        let below = 0
        for (const [index, bound] of buckets.entries()) {
          below += counts[index] ?? 0
          yield { suffix: '_bucket', labels: [...own, ['le', String(bound)]], value: below }
        }
        yield { suffix: '_bucket', labels: [...own, ['le', '+Inf']], value: count }
        yield { suffix: '_sum', labels: own, value: sum }
        yield { suffix: '_count', labels: own, value: count }
      }
    },
  }
}

/** Occurs in no label, so that no two series share a key. */
const SEPARATOR = '\u0000'

function pair(labels: readonly string[], values: LabelValues): (readonly [string, string])[] {
  return labels.map((label, index) => [label, values[index] ?? ''])
}

/** Resolution of the event loop's delay. A finer one would wake an idle process too often. */
const RESOLUTION_MS = 50

/** Costs of this process, under the names that dashboards for Node expect. */
export function createProcessMetrics() {
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
