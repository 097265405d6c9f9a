export {
  createMetrics,
  type Metrics,
  type MetricsDeps,
  type MetricsSources,
  type StoreReadings,
  type WaitingOperations,
} from './metrics.ts'
