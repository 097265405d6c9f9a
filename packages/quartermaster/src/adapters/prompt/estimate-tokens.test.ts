import { expect, it } from 'vitest'
import { estimateTokens } from './prompt-for.ts'

/** Counted with `o200k_base`. */
const COUNTED: readonly [string, number][] = [
  ['', 0],
  ['Reads a file in the folders you were given: text by lines, images as images, other small files as bytes.', 24],
  ['- `delegate_task_async`: Send a task to a peer and return immediately with a task_id (non-blocking).\n', 24],
  ['Бабушка варит суп из свежих овощей каждый вечер.', 14],
  ['今日は天気がいいので散歩に行きましょう。', 14],
]

it.each(COUNTED)('is near to what a tokenizer counts in %j', (text, counted) => {
  expect(Math.abs(estimateTokens(text) - counted)).toBeLessThanOrEqual(Math.ceil(counted / 6))
})

it('takes no longer for a long text than its length asks for', () => {
  expect(estimateTokens(' '.repeat(1_000_000))).toBe(1)
  expect(estimateTokens('`'.repeat(1_000_000))).toBeGreaterThan(100_000)
})
