import { charactersOf, createSynonymTable, createTermReader } from '../search/index.ts'

/** A word of a question, or another for it, and how much it counts there. */
export interface AskedWord {
  readonly word: string
  readonly weight: number
  /** Which word of the question is meant. Of several that mean the same only the one that says most is heard. */
  readonly meaning: number
}

/** Turns memories and questions into words that meet. */
export interface MemoryWords {
  /** All words of a memory, with a space between, and a mark at the end of one that asks. */
  of(content: string): string
  /** The words of a question, each once; those that say nothing only when there are no others. */
  asked(query: string): readonly AskedWord[]
}

/** More than a memory of the largest size has in any language. */
const MOST_WORDS = 40_000
/** What is longer is a text that somebody pasted, and its beginning says what it is about. */
export const MOST_ASKED = 24
/** Another word for it is not the word. */
const SYNONYM_WEIGHT = 0.4
/** Stands among the words of what ends in a question. No question has it as a word. */
const MARK = '?'
/** As languages write it; a closing quote or bracket may follow. */
const ENDS_ASKING = /[?？؟⁇⁈][\s"'”’»)\]]*$/u

export function createMemoryWords(): MemoryWords {
  const reader = createTermReader()
  const synonyms = createSynonymTable()

  function askedThemselves(query: string): readonly AskedWord[] {
    const telling = reader.weigh(query, MOST_ASKED * 4)
    const asked =
      telling.length > 0
        ? telling.map(({ term, weight }) => ({ word: term, weight }))
        : [...new Set(reader.readAll(query, MOST_ASKED))].map(word => ({ word, weight: 1 }))
    return asked.slice(0, MOST_ASKED).map((one, meaning) => ({ ...one, meaning }))
  }

  return {
    of(content) {
      const words = [...reader.readAll(content, MOST_WORDS), ...charactersOf(content)]
      return (ENDS_ASKING.test(content) ? [...words, MARK] : words).join(' ')
    },
    asked(query) {
      const asked = askedThemselves(query)
      const known = new Set(asked.map(({ word }) => word))
      const others = asked.flatMap(({ word, weight, meaning }) =>
        (synonyms.get(word) ?? [])
          .filter(other => !known.has(other))
          .map(other => ({ word: other, weight: weight * SYNONYM_WEIGHT, meaning })),
      )
      return [...asked, ...others].slice(0, MOST_ASKED)
    },
  }
}

/** Whether a memory with these words asks something. */
export function isAsking(words: string): boolean {
  return words.endsWith(MARK)
}
