import type { Store } from '../store/index.ts'
import type { RunningDigest } from './ports.ts'

/** The id of a piece: each place of a content is taken once. */
export function pieceId(blobId: string, position: number): string {
  return `${blobId}.${position}`
}

/** What is kept of a content, piece by piece. One that is missing is `undefined`, and the last. */
export async function* keptPieces(
  store: Store,
  { blobId, size }: { readonly blobId: string; readonly size: number },
): AsyncGenerator<Uint8Array | undefined> {
  let read = 0
  for (let position = 0; position === 0 || read < size; position++) {
    const piece = await store.get('chunks', pieceId(blobId, position))
    yield piece?.bytes
    if (!piece) return
    read += piece.bytes.length
  }
}

export interface KeptContent {
  readonly blobId: string
  readonly size: number
  readonly sha256: string
}

/** Whether all of it is there, as it was handed in. */
export async function isWhole(store: Store, openDigest: () => RunningDigest, content: KeptContent): Promise<boolean> {
  const digest = openDigest()
  for await (const piece of keptPieces(store, content)) {
    if (!piece) return false
    digest.add(piece)
  }
  return digest.end() === content.sha256
}
