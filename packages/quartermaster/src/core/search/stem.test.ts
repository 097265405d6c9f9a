import { expect, it } from 'vitest'
import { stem } from './index.ts'

const FORMS: Record<string, string> = {
  consign: 'consign consigned consigning consignment',
  consist: 'consist consistency consistent consistently',
  conspicu: 'conspicuous conspicuously',
  knit: 'knit knitted knitting',
  knot: 'knot knots knotted',
  search: 'search searched searches searching',
  translat: 'translate translates translation translator',
  calcul: 'calculate calculation calculator',
  relat: 'relate relation relational',
  hope: 'hope hoping hopefulness',
  hop: 'hop hopping hopped',
  sky: 'sky skies',
  die: 'die dies dying',
}

it.each(Object.entries(FORMS))('knows the forms of a word as one: %s', (stemmed, forms) => {
  expect([...new Set(forms.split(' ').map(stem))]).toEqual([stemmed])
})

it.each(['gas', 'this', 'news', 'bias', 'exceed', 'sing', 'bleed', 'by', 's3', 'wörter'])(
  'leaves a word without an ending alone: %s',
  word => expect(stem(word)).toBe(word),
)

it.each([
  ['consolatory', 'consolatori'],
  ['knackeries', 'knackeri'],
  ['generously', 'generous'],
  ['general', 'general'],
  ['agreed', 'agre'],
  ['electricity', 'electr'],
  ['ties', 'tie'],
  ['cries', 'cri'],
])('agrees with the published vocabulary: %s', (word, stemmed) => {
  expect(stem(word)).toBe(stemmed)
})
