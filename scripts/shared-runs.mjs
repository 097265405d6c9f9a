// @ts-check
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT } from './ensure.mjs'

/** @typedef {{ file: string, text: string }} Text */
/** @typedef {{ words: string, count: number, file: string, line: number, other: string, otherLine: number }} Run */

const USUAL_WORDS = 7
/** What people and models read of the product: pages, and the descriptions and messages in its sources. */
const PRODUCT = [
  'README.md',
  'docs',
  'packages/quartermaster/README.md',
  'packages/quartermaster/knowledge',
  'packages/quartermaster/src',
]
const USAGE = `Reports every run of words that the product's texts share with the texts in a folder.
Usage: node scripts/shared-runs.mjs FOLDER [--words ${USUAL_WORDS}]
Exits with 1 when there is such a run.`

/**
 * The longest runs of at least `least` words that both have, in order of the product's texts. Case, punctuation and the
 * places where a source cuts a sentence into several literals do not matter.
 * @param {readonly Text[]} product
 * @param {readonly Text[]} others
 * @returns {Run[]}
 */
export function sharedRuns(product, others, least = USUAL_WORDS) {
  const read = others.map(({ file, text }) => ({ file, words: wordsOf(text) }))
  /** @type {Map<string, { file: string, words: Word[], at: number }[]>} */
  const places = new Map()
  for (const { file, words } of read) {
    for (let at = 0; at + least <= words.length; at++) {
      const key = keyAt(words, at, least)
      places.set(key, [...(places.get(key) ?? []), { file, words, at }])
    }
  }
  return product.flatMap(({ file, text }) => runsIn(file, wordsOf(text), places, least))
}

/** @typedef {{ word: string, line: number }} Word */

/**
 * @param {string} file
 * @param {Word[]} words
 * @param {Map<string, { file: string, words: Word[], at: number }[]>} places
 * @param {number} least
 */
function runsIn(file, words, places, least) {
  /** @type {Run[]} */
  const runs = []
  for (let at = 0; at + least <= words.length; at++) {
    const [longest] = (places.get(keyAt(words, at, least)) ?? [])
      .map(place => ({ place, count: commonLength(words, at, place) }))
      .sort((a, b) => b.count - a.count)
    if (!longest) continue
    const { place, count } = longest
    const shared = words.slice(at, at + count).map(({ word }) => word)
    const otherLine = place.words[place.at]?.line ?? 1
    runs.push({ words: shared.join(' '), count, file, line: words[at]?.line ?? 1, other: place.file, otherLine })
    at += count - 1
  }
  return runs
}

/** @param {Word[]} words @param {number} at @param {{ words: Word[], at: number }} place */
function commonLength(words, at, place) {
  let count = 0
  while (at + count < words.length && words[at + count]?.word === place.words[place.at + count]?.word) count++
  return count
}

/** @param {Word[]} words @param {number} at @param {number} least */
function keyAt(words, at, least) {
  return words
    .slice(at, at + least)
    .map(({ word }) => word)
    .join(' ')
}

/** @param {string} text @returns {Word[]} */
function wordsOf(text) {
  const plain = text.toLowerCase().replaceAll('’', "'")
  return plain
    .split('\n')
    .flatMap((line, i) => (line.match(/[\p{L}\p{N}_]+(?:'\p{L}+)?/gu) ?? []).map(word => ({ word, line: i + 1 })))
}

/** @param {string} root @param {readonly string[]} paths @param {(file: string) => boolean} isWanted @returns {Text[]} */
function read(root, paths, isWanted) {
  return paths
    .flatMap(path => (/\.\w+$/.test(path) ? [path] : filesIn(join(root, path)).map(name => join(path, name))))
    .filter(isWanted)
    .map(file => ({ file, text: readFileSync(join(root, file), 'utf8') }))
}

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

/** @param {string} file */
function isProductText(file) {
  return file.endsWith('.md') || (file.endsWith('.ts') && !/\.test\.ts$|\btesting\b/.test(file))
}

function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { words: { type: 'string' } } })
  const least = Number(values.words ?? USUAL_WORDS)
  const [folder] = positionals
  if (folder === undefined || !Number.isInteger(least) || least < 1) {
    console.error(USAGE)
    return 2
  }
  const runs = sharedRuns(
    read(ROOT, PRODUCT, isProductText),
    read(resolve(folder), filesIn(resolve(folder)), () => true),
    least,
  )
  for (const { words, count, file, line, other, otherLine } of runs)
    console.log(`${file}:${line} shares ${count} words with ${other}:${otherLine}: ${words}`)
  console.log(runs.length === 0 ? `No run of ${least} words is shared.` : `${runs.length} shared runs.`)
  return runs.length === 0 ? 0 : 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = main()
