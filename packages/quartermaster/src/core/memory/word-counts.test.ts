import { expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createWordFrequencies } from './words.ts'

/** Slots that have the words, and what was asked of them. */
function counted() {
  const clock = createFakeClock()
  const slots: Record<string, number[]> = { often: sequence(1, 500), seldom: [3, 7] }
  const looked: string[] = []
  const { of: countOf } = createWordFrequencies(
    {
      async count(word, { upTo, above = 0, most }) {
        const found = (slots[word] ?? []).filter(slot => slot > above && slot <= upTo).slice(0, most)
        looked.push(`${found.length} ${word}`)
        return found.length
      },
    },
    clock,
  )
  return { clock, slots, looked, countOf }
}

const sequence = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

it('counts a frequent word once, then only newer memories', async () => {
  const { slots, looked, countOf } = counted()
  const scopes = ['a']
  expect(await countOf('often', { scopes, upTo: 500 })).toBe(500)
  slots['often']?.push(501, 502)
  expect(await countOf('often', { scopes, upTo: 502 })).toBe(502)
  expect(await countOf('often', { scopes, upTo: 502 })).toBe(502)
  expect(looked).toEqual(['500 often', '2 often'])
})

it('counts again for rare words, other scopes, earlier slots, and after ten minutes', async () => {
  const { clock, looked, countOf } = counted()
  for (let i = 0; i < 2; i++) expect(await countOf('seldom', { scopes: ['a'], upTo: 500 })).toBe(2)
  for (const scopes of [['a'], ['b']]) expect(await countOf('often', { scopes, upTo: 500 })).toBe(500)
  expect(await countOf('often', { scopes: ['a'], upTo: 300 })).toBe(300)
  expect(looked).toEqual(['2 seldom', '2 seldom', '500 often', '500 often', '300 often'])
  await clock.advance(10 * 60_000)
  expect(await countOf('often', { scopes: ['a'], upTo: 400 })).toBe(400)
  expect(looked.at(-1)).toBe('400 often')
})

it('counts up to 10,000', async () => {
  const { slots, looked, countOf } = counted()
  slots['often'] = sequence(1, 12_000)
  expect(await countOf('often', { scopes: ['a'], upTo: 12_000 })).toBe(10_000)
  expect(await countOf('often', { scopes: ['a'], upTo: 12_001 })).toBe(10_000)
  expect(looked).toEqual(['10000 often'])
})
