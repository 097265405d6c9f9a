import { InvalidArgumentError, Option } from 'commander'

/** `--limit`: how many entries of a list at most. */
export function limitOption(): Option {
  return openLimitOption().default(50)
}

/** The same, where it depends on what is asked how many there are without it. */
export function openLimitOption(): Option {
  return new Option('--limit <NUMBER>', 'at most this many, up to 1000').argParser(toLimit)
}

/** `--offset`: where the text before ended. */
export function offsetOption(): Option {
  return new Option('--offset <NUMBER>', 'go on with a text behind so many characters').argParser(toOffset)
}

/** `--cursor`: where the page before ended. */
export function cursorOption(): Option {
  return new Option('--cursor <CURSOR>', 'go on where the last page ended')
}

/** What stands below a page that is not the last. */
export function nextPage(cursor: string | undefined): string {
  return cursor === undefined ? '' : `More: the same with --cursor ${cursor}\n`
}

function toOffset(text: string): number {
  const offset = Number(text)
  if (text.trim() !== '' && Number.isSafeInteger(offset) && offset >= 0) return offset
  throw new InvalidArgumentError('Write a whole number.')
}

function toLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= 1_000) return limit
  throw new InvalidArgumentError('Write a whole number from 1 to 1000.')
}
