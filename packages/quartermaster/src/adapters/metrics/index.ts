export { createMetrics, type Metrics, type MetricsDeps, type MetricsSources, type StoreReadings } from './metrics.ts'
