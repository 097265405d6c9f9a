import type { ProbeVerdict } from '../../core/catalogue/index.ts'

/** The verdict of a look that found nothing wrong. */
export const UP: ProbeVerdict = Object.freeze({ up: true })

export function down(reason: string): ProbeVerdict {
  return { up: false, reason }
}

/** The system's short name of an error (`ECONNREFUSED`), also where it is wrapped in another. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : codeOf(cause)
}

/**
 * What a failed connection says about the other side, or `undefined` when it says nothing: a reset, a full table of
 * open files or a name server that is away for a moment do not mean that the service is.
 */
export function connectionVerdict(error: unknown, where: { host: string; address: string }): ProbeVerdict | undefined {
  const code = codeOf(error)
  if (code === 'ECONNREFUSED') return down(`Nothing listens on ${where.address} (connection refused).`)
  if (code === 'ENOTFOUND') return down(`No host is named "${where.host}".`)
  if (code !== undefined && UNREACHABLE.has(code)) return down(`${where.address} cannot be reached (${code}).`)
  return undefined
}

const UNREACHABLE: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'EADDRNOTAVAIL'])
