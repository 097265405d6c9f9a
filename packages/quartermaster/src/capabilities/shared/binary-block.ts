import type { ContentBlock } from '../../contracts/index.ts'

/** Bytes that are no text, as what they are. The address is for those that are neither picture nor sound. */
export function binaryBlock(bytes: Uint8Array, mimeType: string, uri: string): ContentBlock {
  const data = bufferOf(bytes).toString('base64')
  if (mimeType.startsWith('image/')) return { type: 'image', data, mimeType }
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType }
  return { type: 'resource', resource: { uri, mimeType, blob: data } }
}

/** Whether one of these secrets is in bytes that cannot be masked. */
export function hasSecret(bytes: Uint8Array, secrets: readonly string[]): boolean {
  const buffer = bufferOf(bytes)
  return secrets.some(secret => secret !== '' && buffer.includes(secret))
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
