import { jsonExcess } from '../../../core/kernel/index.ts'

/** Real messages stay far below; what is behind us works through them by recursion, and each value costs memory. */
export const MESSAGE_LIMITS = {
  bytes: 32 * 1024 * 1024,
  maxJsonDepth: 512,
  maxJsonValues: 4_000_000,
  /** No short text has as many: they are counted in long ones alone. */
  maxJsonMembers: 100_000,
  /** A batch is handled in one go, so that a larger one would be a flood. */
  inBatch: 1_000,
}

/** What of a text is more than a message may hold, in a sentence. */
export function excessIn(text: string): string | undefined {
  // A shorter text cannot nest that deep.
  if (text.length <= MESSAGE_LIMITS.maxJsonDepth) return undefined
  const excess = jsonExcess(text, MESSAGE_LIMITS)
  return excess && `It ${excess.what}.`
}
