export { type Availability, createHealth, type Health, type HealthDeps } from './health.ts'
