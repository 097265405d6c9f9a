export { type Address, parseAddress, requirementsOf } from './address.ts'
export { type Availability, createHealth, type Health, type HealthDeps, type Needing } from './health.ts'
export { neededDependencies } from './needed.ts'
export { missingInWords, stateInWords } from './state-words.ts'
