import { setImmediate } from 'node:timers/promises'

/** The real one, whatever the clock of a test says: work that takes long is in nobody's way by it. */
export const EVENT_LOOP = { now: () => performance.now(), breathe: () => setImmediate() }
