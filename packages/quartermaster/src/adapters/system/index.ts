export { createSystemClock, keepingAlive, keptAlive } from './clock.ts'
export { createJsonLog, createLevelledLog, silentLog } from './log.ts'
export { createIds, openSha256, sha256, systemRandom } from './randomness.ts'
