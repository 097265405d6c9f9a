/** What of a piece of content is no text: base64 of a picture, a sound, a file. */
export interface BinaryContent {
  readonly data: string
  readonly mimeType: string
}

type Fields = Readonly<Record<string, unknown>>

/**
 * What is no text in a piece of content, by the shapes of MCP; nothing where all of it is. By its fields and not by its type, so
 * that kinds which come later are seen as well.
 */
export function binaryIn(piece: object): BinaryContent | undefined {
  const { type, data, blob, mimeType, resource } = piece as Fields
  if (type === 'text') return undefined
  if (typeof data === 'string' && typeof mimeType === 'string') return { data, mimeType }
  return isFields(resource) ? blobIn(resource.blob, resource.mimeType) : blobIn(blob, mimeType)
}

/** The same piece with nothing in its place. */
export function withoutBinary<T extends object>(piece: T): T {
  const { data, resource } = piece as Fields
  if (typeof data === 'string') return { ...piece, data: '' }
  return isFields(resource) ? { ...piece, resource: { ...resource, blob: '' } } : { ...piece, blob: '' }
}

function blobIn(blob: unknown, mimeType: unknown): BinaryContent | undefined {
  if (typeof blob !== 'string') return undefined
  return { data: blob, mimeType: typeof mimeType === 'string' ? mimeType : 'application/octet-stream' }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
