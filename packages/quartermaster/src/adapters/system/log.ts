import type { Settings } from '../../contracts/index.ts'
import { type Log, toSafeJson } from '../../core/kernel/index.ts'
import { redactFields, redactText } from './redact.ts'

type Level = keyof Log
const ORDER: readonly Settings['logLevel'][] = ['debug', 'info', 'warn', 'error', 'silent']

type WriteEntry = (level: Level, message: string, fields: Record<string, unknown> | undefined) => void

/**
 * Passes on what is at or above the level, without what looks like a credential. The level is asked each time, because it
 * may be read later than the first line.
 */
export function createLevelledLog(threshold: () => Settings['logLevel'], write: WriteEntry): Log {
  const at =
    (level: Level): Log[Level] =>
    (message, fields) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(threshold())) return
      write(level, redactText(message), fields && redactFields(fields))
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** Writes one JSON line per event: time, level and message, then the facts, which cannot take their places. */
export function createJsonLog(options: { write: (line: string) => void; level: () => Settings['logLevel'] }): Log {
  return createLevelledLog(options.level, (level, message, fields) => {
    const head = { time: new Date().toISOString(), level, message }
    // Whoever looks at it may do so at a terminal.
    options.write(`${toSafeJson(JSON.stringify({ ...head, ...fields, ...head }))}\n`)
  })
}

/** For programs that want no lines. */
export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
