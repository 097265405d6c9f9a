const encoder = new TextEncoder()

/** How many bytes a text has as UTF-8. */
export function bytesOf(text: string): number {
  return encoder.encode(text).byteLength
}
