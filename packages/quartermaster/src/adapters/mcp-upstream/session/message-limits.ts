import { jsonExcess } from '../../../core/kernel/index.ts'
import type { SizeLimits } from './message-size.ts'

/** Real messages stay far below; what is behind us works through them by recursion, and each value costs memory. */
export const MESSAGE_LIMITS = {
  bytes: 32 * 1024 * 1024,
  maxJsonDepth: 512,
  maxJsonValues: 4_000_000,
  /** No short text has as many: they are counted in long ones alone. */
  maxJsonMembers: 100_000,
  /** A batch is handled in one go, so that a larger one would be a flood. */
  inBatch: 1_000,
  /** What an error says is kept with the operation, and a model reads it. A stack trace has a few thousand. */
  errorMessageCharacters: 8 * 1024,
  /** Of all of an error. */
  errorCharacters: 64 * 1024,
  /** What a server says on its own, without having been called, is read in one go. */
  ownCharacters: 1024 * 1024,
  /** The same of a question to a model, which may be about a picture. */
  modelQuestionCharacters: 8 * 1024 * 1024,
  /** Each of them is looked at several times before somebody is asked. */
  ownValues: 50_000,
}

/** How large that may be which a server tells or asks by this method. */
export function ownLimits(method: string): SizeLimits {
  const { ownCharacters, modelQuestionCharacters, ownValues: values } = MESSAGE_LIMITS
  return { characters: method === 'sampling/createMessage' ? modelQuestionCharacters : ownCharacters, values }
}

/** What of a text is more than a message may hold, in a sentence. */
export function excessIn(text: string): string | undefined {
  // A shorter text cannot nest that deep.
  if (text.length <= MESSAGE_LIMITS.maxJsonDepth) return undefined
  const excess = jsonExcess(text, MESSAGE_LIMITS)
  return excess && `It ${excess.what}.`
}
