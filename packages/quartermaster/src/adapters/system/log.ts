import type { Settings } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'

type Level = keyof Log
const ORDER: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

type WriteEntry = (level: Level, message: string, fields: Record<string, unknown> | undefined) => void

/** Passes on what is at or above the level. The level is asked each time, because it may be read later than the first line. */
export function createLevelledLog(threshold: () => Settings['logLevel'], write: WriteEntry): Log {
  const at =
    (level: Level): Log[Level] =>
    (message, fields) => {
      if (ORDER.indexOf(level) >= ORDER.indexOf(threshold())) write(level, message, fields)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Writes one JSON line per event. */
export function createJsonLog(options: { write: (line: string) => void; level: () => Settings['logLevel'] }): Log {
  return createLevelledLog(options.level, (level, message, fields) =>
    options.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`),
  )
}

/** For programs that want no lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
