import { expect, it } from 'vitest'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createWordPlaces } from './words.ts'

const sequence = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** Slots that have the words, and what the database was asked for. */
function places(slots: Record<string, number[]>) {
  const asked: string[] = []
  const having = (word: string, upTo: number) => (slots[word] ?? []).filter(slot => slot <= upTo).toReversed()
  const find = createWordPlaces(
    {
      async count(word, { upTo, most }) {
        asked.push(`count ${word}`)
        return having(word, upTo).slice(0, most).length
      },
      async newest(words, { upTo }) {
        if (words.length > 0) asked.push(words.map(({ word, most }) => `${word} ${most}`).join(', '))
        return words.map(({ word, most }) => having(word, upTo).slice(0, most))
      },
    },
    createFakeClock(),
  )
  return { asked, find }
}

const SCOPE = { scopes: ['a'], upTo: 20_000 }

it('reads and counts rare words in one query', async () => {
  const { asked, find } = places({ seldom: [3, 7], rare: [5] })
  expect(await find(['seldom', 'rare', 'never'], SCOPE)).toEqual([
    { having: 2, slots: [7, 3] },
    { having: 1, slots: [5] },
    { having: 0, slots: [] },
  ])
  expect(asked).toEqual(['seldom 250, rare 250, never 250'])
})

it('counts a frequent word once, and reads as many of its rows as the rarer words leave', async () => {
  const { asked, find } = places({ often: sequence(1, 9_000), seldom: sequence(1, 40) })
  for (let i = 0; i < 2; i++) {
    const [often, seldom] = await find(['often', 'seldom'], SCOPE)
    expect([often?.having, seldom?.having]).toEqual([9_000, 40])
    expect([often?.slots.length, often?.slots[0], seldom?.slots.length]).toEqual([5_960, 9_000, 40])
  }
  expect(asked).toEqual(['often 250, seldom 250', 'count often', 'often 5960', 'often 6000, seldom 250'])
})

it('uses the counts of a cursor', async () => {
  const { asked, find } = places({ often: sequence(1, 300), seldom: [1] })
  expect(await find(['often', 'seldom'], SCOPE, [400, 2])).toMatchObject([{ having: 400 }, { having: 2, slots: [1] }])
  expect(asked).toEqual(['often 400, seldom 2'])
})
