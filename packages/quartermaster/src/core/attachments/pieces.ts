/** What one row of content holds: few enough rows for a large file, and small enough to be in memory many times over. */
export const PIECE_BYTES = 256 * 1024

/** The same bytes in pieces of one size; the last may be shorter. There is always a last one, if need be an empty one. */
export async function* inPieces(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly isLast: boolean }> {
  let piece = new Uint8Array(PIECE_BYTES)
  let filled = 0
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; ) {
      // Only now is it known that there is more behind it.
      if (filled === PIECE_BYTES) {
        yield { bytes: piece, isLast: false }
        piece = new Uint8Array(PIECE_BYTES)
        filled = 0
      }
      const part = bytes.subarray(at, at + PIECE_BYTES - filled)
      piece.set(part, filled)
      filled += part.length
      at += part.length
    }
  }
  yield { bytes: piece.slice(0, filled), isLast: true }
}
