import { jsonExcess } from '../../../core/kernel/index.ts'

/** Real messages stay far below; later steps process them recursively, and each value costs memory. */
export const MESSAGE_LIMITS = {
  bytes: 32 * 1024 * 1024,
  maxJsonDepth: 512,
  maxJsonValues: 4_000_000,
  /** No short text has as many: only long ones are counted. */
  maxJsonMembers: 100_000,
  /** A batch is handled in one go, so a larger one would block other work. */
  inBatch: 1_000,
  /**
   * An error's text is stored with the operation, and a model reads it. A stack trace has a few thousand characters.
   */
  errorMessageCharacters: 8 * 1024,
  errorCharacters: 64 * 1024,
  /** Messages that a server sends unasked are read in one go. */
  ownCharacters: 1024 * 1024,
  /** The same for a question to a model, which may contain a picture. */
  modelQuestionCharacters: 8 * 1024 * 1024,
  /** Each of them is checked several times before a person is asked. */
  ownValues: 50_000,
}

/** The limits of a server's request or notification with this method. */
export function ownLimits(method: string): SizeLimits {
  const { ownCharacters, modelQuestionCharacters, ownValues: values } = MESSAGE_LIMITS
  return { characters: method === 'sampling/createMessage' ? modelQuestionCharacters : ownCharacters, values }
}

/** Which limit of a message a text exceeds, in a sentence. */
export function excessIn(text: string): string | undefined {
  // A shorter text cannot nest that deep.
  if (text.length <= MESSAGE_LIMITS.maxJsonDepth) return undefined
  const excess = jsonExcess(text, MESSAGE_LIMITS)
  return excess && `It ${excess.what}.`
}

interface SizeLimits {
  readonly characters: number
  readonly values?: number
}

/** Which limit a value exceeds, in words: `it has more than 100 values`. Checking stops there. */
export function sizeExcess(
  value: unknown,
  { characters, values = Number.POSITIVE_INFINITY }: SizeLimits,
): string | undefined {
  const left = { characters, values }
  count(value, left)
  if (left.characters < 0) return `it has more than ${characters} characters`
  return left.values < 0 ? `it has more than ${values} values` : undefined
}

interface Left {
  characters: number
  values: number
}

function count(value: unknown, left: Left): void {
  left.values--
  if (typeof value === 'string') left.characters -= value.length
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) return countItems(value, left)
  for (const [key, item] of Object.entries(value)) {
    left.characters -= key.length
    if (isUsedUp(left)) return
    count(item, left)
  }
}

function countItems(list: readonly unknown[], left: Left): void {
  // By index: elements beyond the limit are not even read.
  for (let i = 0; i < list.length && !isUsedUp(left); i++) count(list[i], left)
}

function isUsedUp({ characters, values }: Left): boolean {
  return characters < 0 || values < 0
}

/** The modern revision that we speak, and the legacy ones, newest first. */
export const MODERN_VERSION = '2026-07-28'
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Keys of `_meta` that MCP 2026-07-28 defines. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** The first notification of a subscription (MCP 2026-07-28): from here on changes are sent. */
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** A map: in an object, a server's `constructor` would be a list too. */
export const LIST_CHANGED: ReadonlyMap<string, 'tools' | 'prompts' | 'resources'> = new Map([
  ['notifications/tools/list_changed', 'tools'],
  ['notifications/prompts/list_changed', 'prompts'],
  ['notifications/resources/list_changed', 'resources'],
])
