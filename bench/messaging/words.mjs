// @ts-check
import { createSeeded } from '../lib/seeded.mjs'

const VOCABULARY = 20_000
const { next, below } = createSeeded(7)

/** Few words are in most texts and most words in few, as in any language. */
const word = () =>
  String(Math.floor(VOCABULARY ** next()))
    .replaceAll(/\d/g, digit => 'bdfgklmnpr'.charAt(Number(digit)))
    .concat('o')

/** @param {number} count */
export const words = count => Array.from({ length: count }, word).join(' ')

/** Something that nobody has said before. */
export const sentence = () => words(12 + below(30))
