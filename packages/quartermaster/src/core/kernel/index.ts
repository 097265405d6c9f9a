export { canonicalJson } from './canonical-json.ts'
export { closest, didYouMean } from './closest.ts'
export { createEmitter, type Emitter } from './emitter.ts'
export type { Cancel, Clock, Digest, Ids, Log, Random } from './ports.ts'
