import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/** So many words in a row are no coincidence. */
const IN_A_ROW = 7

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const read = (file: string) => JSON.parse(readFileSync(`${FOLDER}${file}`, 'utf8'))

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

function rowsIn(text: string): string[] {
  const words = text.toLowerCase().match(/[a-z0-9_]+/g) ?? []
  return words.slice(IN_A_ROW - 1).map((_, index) => words.slice(index, index + IN_A_ROW).join(' '))
}

it('what wording is measured by is nothing that it is learned from', () => {
  const heldOut = read('attacks.json').filter((attack: { heldOut?: boolean }) => attack.heldOut)
  const apart = new Set([read('unseen.json'), read('other-hand.json'), heldOut].flatMap(textsIn).flatMap(rowsIn))
  const learned = readdirSync(`${FOLDER}wording`).flatMap(file => textsIn(read(`wording/${file}`)))
  expect(learned.length).toBeGreaterThan(5_000)
  expect(learned.filter(text => rowsIn(text).some(row => apart.has(row)))).toEqual([])
})
