/** How many bytes are handed over at once: more would be too many arguments for one call. */
const CHUNK = 0x8000

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let start = 0; start < bytes.length; start += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(start, start + CHUNK))
  }
  return btoa(text)
}
