/** A piece of a message with nothing of a word, a path or an address beside it. */
export interface MessageWord {
  readonly text: string
  /** What stands between the word before and this one, cut short where it is long. */
  readonly gap: string
}

/** Of everything that goes on where one of these stands, a name behind it is a part: of an address, of a longer name, of a setting. */
const PIECE = /[\p{L}\p{N}_.@+/~\\%:=?&#$-]+/gu

/** Longer than what stands between two words that belong together. */
const LONGEST_GAP = 8

/** The words of a text, cut in one pass. */
export function messageWords(text: string): readonly MessageWord[] {
  const words: MessageWord[] = []
  let end = 0
  for (const { 0: piece, index } of text.matchAll(PIECE)) {
    words.push({ text: piece, gap: text.slice(end, Math.min(index, end + LONGEST_GAP)) })
    end = index + piece.length
  }
  return words
}
