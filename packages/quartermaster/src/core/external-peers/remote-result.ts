import {
  MESSAGE_BYTES,
  type MessagePart,
  MOST_ATTACHMENTS,
  MOST_PARTS,
  toKeepable,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import type { Attachments } from '../attachments/index.ts'
import { plainLine } from './card-words.ts'
import type { RemoteArtifact, RemotePart, RemoteTask } from './ports.ts'

/** What an agent elsewhere has said, as the ledger keeps it. */
export interface RemoteWords {
  readonly message: string
  readonly parts: MessagePart[]
  readonly attachments: string[]
}

/** All pieces of what came of a task: its artifacts, then what was said with the end. */
export function resultParts({ artifacts, status }: RemoteTask): readonly RemotePart[] {
  return [...artifacts.flatMap(({ parts }) => joined(parts)), ...status.said]
}

/** Agents hand over an artifact in pieces, which are cut anywhere: what was one text is one again. */
function joined(parts: readonly RemotePart[]): readonly RemotePart[] {
  const whole: RemotePart[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if (part.kind === 'text' && last?.kind === 'text')
      whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}

/** What an artifact is with one more piece of it. */
export function withArtifact(
  artifacts: readonly RemoteArtifact[],
  next: RemoteArtifact,
  append: boolean,
): readonly RemoteArtifact[] {
  const known = artifacts.find(({ id }) => id === next.id)
  if (!known) return [...artifacts, next]
  const whole = append ? { ...next, parts: [...known.parts, ...next.parts] } : next
  return artifacts.map(one => (one === known ? whole : one))
}

/** The words alone, for whoever is told how it goes. */
export function textOf(parts: readonly RemotePart[]): string {
  return parts
    .flatMap(part => (part.kind === 'text' && part.text.trim() !== '' ? [toKeepable(part.text)] : []))
    .join('\n\n')
}

/** Keeps the files, and says where those are that came as addresses. A file that cannot be kept is named and not hidden. */
export async function keepWords(
  parts: readonly RemotePart[],
  { attachments, peer, empty }: { attachments: Attachments; peer: WorkspaceRow; empty: string },
): Promise<RemoteWords> {
  const kept: string[] = []
  const notes: string[] = []
  for (const part of parts) {
    if (part.kind === 'link') notes.push(`File ${nameOf(part)}: ${plainLine(part.url, 2_048)}`)
    if (part.kind !== 'file') continue
    const id = kept.length < MOST_ATTACHMENTS ? await keepFile(part, attachments, peer) : undefined
    if (id === undefined) notes.push(`The file ${nameOf(part)} (${part.bytes.length} bytes) could not be kept.`)
    else kept.push(id)
  }
  const message = [textOf(parts), ...notes].filter(text => text !== '').join('\n\n')
  const data = dataOf(parts)
  return {
    message: message === '' && data.length === 0 && kept.length === 0 ? empty : message,
    parts: data,
    attachments: kept,
  }
}

/** As much of it as a message has room for. Of what is said on the way nothing is kept elsewhere, so it says that it was cut. */
export function asMessage(words: RemoteWords): RemoteWords {
  const { message, parts } = words
  if (bytesOf(message) + bytesOf(JSON.stringify(parts)) <= MESSAGE_ROOM) return words
  // A character has three bytes at most for each unit of its text.
  const shown = message.slice(0, Math.floor(MESSAGE_ROOM / 3)).replace(/[\ud800-\udbff]$/, '')
  return { ...words, message: `${shown}\n\n(It said more than fits into a message.)`, parts: [] }
}

const MESSAGE_ROOM = MESSAGE_BYTES - 1_024
const encoder = new TextEncoder()
const bytesOf = (text: string) => encoder.encode(text).byteLength

async function keepFile(
  part: Extract<RemotePart, { kind: 'file' }>,
  attachments: Attachments,
  { organisation, id: workspaceId, workspace: by }: WorkspaceRow,
): Promise<string | undefined> {
  const mediaType = MEDIA_TYPE.test(part.mediaType) ? part.mediaType : 'application/octet-stream'
  const name = plainLine(part.name, 255) || 'file'
  async function* content() {
    yield part.bytes
  }
  try {
    return (await attachments.receive({ organisation, workspaceId, by, name, mediaType }, content())).id
  } catch {
    // Too large, or too many: it is named in the answer, which counts more than the file.
    return undefined
  }
}

const MEDIA_TYPE = /^[\w.+-]{1,127}\/[\w.+-]{1,127}$/

function nameOf({ name, mediaType }: { readonly name: string; readonly mediaType: string }): string {
  const shown = plainLine(name, 255)
  const type = plainLine(mediaType, 100)
  return `${shown === '' ? '(no name)' : `"${shown}"`}${type === '' ? '' : ` (${type})`}`
}

/** More data than a message has parts for is one list at the end. */
function dataOf(parts: readonly RemotePart[]): MessagePart[] {
  const all = parts.flatMap(part => (part.kind === 'data' ? [part.data] : []))
  const last = all.length > MOST_PARTS ? [all.slice(MOST_PARTS - 1)] : []
  return [...all.slice(0, last.length > 0 ? MOST_PARTS - 1 : MOST_PARTS), ...last].map(data => ({ kind: 'data', data }))
}
