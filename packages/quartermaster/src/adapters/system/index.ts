export { createSystemClock } from './clock.ts'
export { createJsonLog, silentLog } from './log.ts'
export { createIds, sha256, systemRandom } from './randomness.ts'
