export {
  type Availability,
  blamedIn,
  createHealth,
  type Health,
  type HealthDeps,
  missingInWords,
  type Needing,
  neededDependencies,
  stateInWords,
} from './health.ts'
export { type Address, parseAddress, requirementsOf } from './probe.ts'
export { OPTED_OUT } from './records.ts'
