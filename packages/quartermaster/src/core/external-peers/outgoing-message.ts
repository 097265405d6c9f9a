import type { MessageAttachment, MessagePart, WorkspaceRow } from '../../contracts/index.ts'
import type { Attachments } from '../attachments/index.ts'
import { wholeParts } from '../messages/index.ts'
import { RemoteFailure, type RemotePart } from './ports.ts'

/** The most that the files of one message have together. They go along in it, a third larger. */
export const MOST_FILE_BYTES = 26_214_400

/** What somebody here has said. */
export interface Said {
  readonly text: string
  readonly parts: readonly MessagePart[] | null
  readonly files: readonly MessageAttachment[]
}

/** What is sent: the words, and the files with all that is in them. */
export async function outgoingParts(
  attachments: Attachments,
  { organisation, id: workspaceId }: WorkspaceRow,
  { text, parts: said, files }: Said,
): Promise<RemotePart[]> {
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  if (bytes > MOST_FILE_BYTES)
    throw new RemoteFailure(
      'refused',
      `Its files have ${bytes} bytes; an A2A agent elsewhere is sent ${MOST_FILE_BYTES} at most. Attach less.`,
    )
  const parts: RemotePart[] = wholeParts({ text, parts: said ?? [] }).map(toRemote)
  for (const { id, name, mediaType } of files) {
    const { content } = await attachments.open({ organisation, workspaceId }, id)
    parts.push({ kind: 'file', bytes: await wholeOf(content), name, mediaType })
  }
  return parts
}

function toRemote(part: MessagePart): RemotePart {
  return part.kind === 'text' ? part : { kind: 'data', data: part.data ?? null }
}

async function wholeOf(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
