import type { AppError } from '../../contracts/index.ts'
import type { Needing } from './health.ts'

/**
 * What an error says failed, if that is something its definition needs. Whoever asks to be come back to later is there: that
 * it has much to do is no reason to look after it, and takes it from nobody.
 */
export function blamedIn({ code, details }: AppError, { requires }: Pick<Needing, 'requires'>): string | undefined {
  if (code !== 'DEPENDENCY_UNAVAILABLE' || typeof details?.retryAfterMs === 'number') return undefined
  const { dependency } = details ?? {}
  return typeof dependency === 'string' && requires.includes(dependency) ? dependency : undefined
}
