// @ts-check

const words = (/** @type {string} */ text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * BM25 as it stands in books (k1 1.2, b 0.75), over whole words: neither stems nor stop words nor context.
 * @param {readonly { id: string, text: string }[]} rows
 * @returns {(question: string, limit: number) => string[]}
 */
export function plainBm25(rows) {
  const documents = rows.map(({ id, text }) => ({ id, words: words(text) }))
  const usual = documents.reduce((sum, one) => sum + one.words.length, 0) / documents.length
  /** @type {Map<string, number>} */
  const having = new Map()
  for (const one of documents) for (const word of new Set(one.words)) having.set(word, (having.get(word) ?? 0) + 1)
  return (question, limit) => {
    const asked = [...new Set(words(question))]
    const scored = documents.map(({ id, words: own }) => ({
      id,
      score: asked.reduce((sum, word) => sum + score(word, own), 0),
    }))
    return scored
      .filter(one => one.score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ id }) => id)
  }

  /** @param {string} word @param {readonly string[]} own */
  function score(word, own) {
    const times = own.filter(one => one === word).length
    if (times === 0) return 0
    const df = having.get(word) ?? 0
    const idf = Math.log(1 + (documents.length - df + 0.5) / (df + 0.5))
    return (idf * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * own.length) / usual))
  }
}
