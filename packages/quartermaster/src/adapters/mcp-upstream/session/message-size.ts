/** How large a value may be. */
export interface SizeLimits {
  /** Of its texts and its keys. */
  readonly characters: number
  readonly values?: number
}

/** What of a value is more than it may have, in words: `it has more than 100 values`. It is looked at no further than that. */
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
  // By number: what is behind the limit is not even asked for.
  for (let i = 0; i < list.length && !isUsedUp(left); i++) count(list[i], left)
}

function isUsedUp({ characters, values }: Left): boolean {
  return characters < 0 || values < 0
}
