import type { LogLevel } from './session.ts'

/** The eight levels of MCP as our four. */
export function toLogLevel(level: unknown): LogLevel {
  if (level === 'debug') return 'debug'
  if (level === 'warning') return 'warn'
  return level === 'error' || level === 'critical' || level === 'alert' || level === 'emergency' ? 'error' : 'info'
}

/** What a line of a server's log says, in one line. */
export function logText(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}
