import { describe, expect, it } from 'vitest'
import { createSearchIndex, type SearchDocument, type SearchIndex } from './index.ts'

const VERBS = ['read', 'write', 'send', 'delete', 'translate', 'plot', 'book', 'measure']
const THINGS = ['file', 'mail', 'chart', 'flight', 'song', 'invoice', 'river', 'sensor', 'recipe', 'calendar']
const QUERIES = [
  'read_file',
  'book a flight',
  'plotting charts of rivers',
  'send the invoice, plot a chart and translate the recipe',
  'measr',
  'calen',
  'sensor data. Then delete the song.',
]

/** The same numbers in every run. */
function createNumbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function documentOf(i: number, numbers: (below: number) => number): SearchDocument {
  const word = (list: readonly string[]) => list[numbers(list.length)] ?? ''
  const name = `${word(VERBS)}_${word(THINGS)}`
  const text = `Can ${word(VERBS)} the ${word(THINGS)} of a ${word(THINGS)}.`
  return { id: `tool-${i}`, name, title: '', text, parameters: [word(THINGS)] }
}

const answers = (index: SearchIndex<string>) => QUERIES.map(query => index.search(query, { limit: 50 }))

function built(documents: Iterable<SearchDocument>): SearchIndex<string> {
  const index = createSearchIndex<string>()
  for (const document of documents) index.add(document, document.id)
  return index
}

function changedAtRandom(numbers: (below: number) => number) {
  const index = createSearchIndex<string>()
  const present = new Map<string, SearchDocument>()
  const removals: { returned: boolean; was: boolean }[] = []
  for (let step = 0; step < 400; step++) {
    const document = documentOf(numbers(60), numbers)
    if (numbers(3) === 0) removals.push({ returned: index.remove(document.id), was: present.delete(document.id) })
    else {
      index.add(document, document.id)
      present.set(document.id, document)
    }
  }
  return { index, present, removals }
}

describe('an index after changes', () => {
  it.each([1, 2, 3])('answers like one built from scratch (seed %i)', seed => {
    const { index, present, removals } = changedAtRandom(createNumbers(seed))
    expect(removals.every(({ returned, was }) => returned === was)).toBe(true)
    expect(answers(index)).toEqual(answers(built(present.values())))
    expect(answers(index)).toEqual(answers(built([...present.values()].toReversed())))
  })

  it('finds nothing after everything was removed', () => {
    const numbers = createNumbers(9)
    const documents = Array.from({ length: 20 }, (_, i) => documentOf(i, numbers))
    const index = built(documents)
    for (const { id } of documents) index.remove(id)
    expect(answers(index).flat()).toEqual([])
    expect(index.remove('tool-1')).toBe(false)
  })

  it('forgets the old words of a document that is added again', () => {
    const index = createSearchIndex<number>()
    index.add({ id: 'x', name: 'tides', title: '', text: 'Sea levels.' }, 1)
    index.add({ id: 'x', name: 'stars', title: '', text: 'Constellations.' }, 2)
    expect(index.search('tides sea levels')).toEqual([])
    expect(index.search('constellations').map(hit => hit.value)).toEqual([2])
  })
})
