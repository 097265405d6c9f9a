export { type Availability, createHealth, type Health, type HealthDeps } from './health.ts'
export { stateInWords } from './state-words.ts'
