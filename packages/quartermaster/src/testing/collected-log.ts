import type { Log } from '../core/kernel/index.ts'

/** A log that keeps its lines, one text each. */
export function collectedLog(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const write = (level: string) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`)
  return { log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }, lines }
}
