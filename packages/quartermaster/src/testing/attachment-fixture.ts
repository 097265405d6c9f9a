import { createIds, openSha256, sha256 } from '../adapters/system/index.ts'
import { DEFAULT_ORGANISATION, DEFAULT_SETTINGS, type Settings } from '../contracts/index.ts'
import { type AttachmentReader, createAttachmentPruner, createAttachments } from '../core/attachments/index.ts'
import type { Store } from '../core/store/index.ts'
import { collectedLog } from './collected-log.ts'
import { createFakeClock } from './fake-clock.ts'

/** Attachments with a clock that stands still. */
export function openAttachments(store: Store, settings: Partial<Settings> = {}) {
  const clock = createFakeClock()
  const { log, lines } = collectedLog()
  const all = { ...DEFAULT_SETTINGS, ...settings }
  const attachments = createAttachments({ store, clock, ids: createIds(), log, openDigest: openSha256, settings: all })
  const pruner = createAttachmentPruner({ store, clock, log, settings: all })

  /** Hands a file in as a workspace; as a person of the first organisation when no id is named. */
  const receive = (
    content: Content,
    { name = 'a.txt', workspaceId = null, organisation = DEFAULT_ORGANISATION, by = workspaceId ?? 'zoe' }: Who = {},
  ) => attachments.receive({ organisation, workspaceId, by, name, mediaType: 'text/plain' }, piecesOf(content))

  const read = async (reader: AttachmentReader, id: string): Promise<Buffer> => {
    const pieces: Uint8Array[] = []
    for await (const piece of (await attachments.open(reader, id)).content) pieces.push(piece)
    return Buffer.concat(pieces)
  }
  /** How many rows of each table there are. */
  const rows = async () => ({
    attachments: await store.count('attachments'),
    blobs: await store.count('blobs'),
    chunks: await store.count('chunks'),
    uses: await store.count('attachmentuses'),
  })
  return { attachments, pruner, clock, lines, receive, read, rows, digest: sha256 }
}

type Content = Uint8Array | AsyncIterable<Uint8Array>

interface Who {
  readonly name?: string
  readonly workspaceId?: string | null
  readonly organisation?: string
  /** The name of the workspace or person. */
  readonly by?: string
}

async function* piecesOf(content: Content): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content
  else yield* content
}
