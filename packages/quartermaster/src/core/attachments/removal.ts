import type { BlobRow } from '../../contracts/index.ts'
import type { Clock } from '../kernel/index.ts'
import { remove, type Store, update, type Write } from '../store/index.ts'

/** Takes away content that has ended. Whatever is left when it is cut off is taken by whoever cleans. */
export type Removal = (blobId: string) => Promise<void>

/** So many pieces go in one commit: those of others wait for a few megabytes at most. */
const BATCH = 32

export function createRemoval({ store, clock }: { readonly store: Store; readonly clock: Clock }): Removal {
  return async blobId => {
    for (let below = BATCH; (await store.count('chunks', { blobId })) > 0; below += BATCH) {
      await store.commit([remove('chunks', { where: { blobId, position: { below } }, rows: 'any' })])
      await clock.breathe()
    }
    await store.commit([remove('blobs', { where: { id: blobId, state: 'ended' }, rows: 'any' })])
  }
}

/**
 * From this commit on nobody finds the content, and it gets no more pieces. Its guard fails when it is not in this state: pieces
 * that became complete meanwhile are somebody's.
 */
export function ending(blobId: string, state: BlobRow['state']): Write {
  const guard = `blob.${state}`
  return update('blobs', { where: { id: blobId, state }, set: { state: 'ended', sha256: null }, guard })
}
