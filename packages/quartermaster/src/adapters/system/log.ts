import type { Settings } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'

type Level = keyof Log
const ORDER: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

/** Writes one JSON line per event at or above the level. */
export function createJsonLog(options: { write: (line: string) => void; level: () => Settings['logLevel'] }): Log {
  const at =
    (level: Level): Log[Level] =>
    (message, fields) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(options.level())) return
      options.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...fields })}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** For programs that want no lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
