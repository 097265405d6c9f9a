/** Counts the lines of a file that are exactly this one, piece by piece. */
export interface LineCounter {
  add(chunk: Uint8Array): void
  /** How many there were; the last line needs no end. */
  end(): number
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const MARK = [0xef, 0xbb, 0xbf]
/** The present line is another one. */
const OTHER = -1

export function countLines(line: string): LineCounter {
  const wanted = Buffer.from(line)
  let count = 0
  // How much of the present line has fitted so far; one more than all of it after a carriage return at its end.
  let fitted = 0
  // The first three bytes may only say that this is UTF-8.
  let position = 0

  function take(byte: number): void {
    if (byte === LINE_FEED) {
      if (fitted >= wanted.length) count++
      fitted = 0
    } else if (fitted === OTHER) return
    else if (fitted < wanted.length && wanted[fitted] === byte) fitted++
    else fitted = fitted === wanted.length && byte === CARRIAGE_RETURN ? wanted.length + 1 : OTHER
  }

  return {
    add(chunk) {
      for (const byte of chunk) {
        if (position < MARK.length && byte === MARK[position]) position++
        else {
          // A letter that only begins like the mark.
          if (position < MARK.length) MARK.slice(0, position).forEach(take)
          position = MARK.length
          take(byte)
        }
      }
    },
    end: () => count + (fitted >= wanted.length ? 1 : 0),
  }
}
