import type { FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { AppError, type FileToAttach, isAttachmentId, toStorable } from '../../contracts/index.ts'
import type { CallContext, Paths, Services } from '../../core/catalogue/index.ts'
import { escapeLine } from '../../core/kernel/index.ts'
import { detectContent, HEAD_BYTES, readUpTo } from './text.ts'
import { errnoOf, Refusal, refusalOf } from './walls/refusal.ts'
import type { WallWords } from './walls/requested-path.ts'
import { createWalls, type Found, type Sandbox } from './walls/sandbox.ts'
import { actorOf } from './workspace-io.ts'

/** Calls are tried again within minutes. */
const MOST_REMEMBERED = 200

/** The files of a message: by their ids, and as the agent has named them. */
export interface Attached {
  readonly attachments: readonly string[]
  readonly named: readonly string[]
}

/** Makes ids of what an agent names: what is a path is handed in, where paths mean something. Throws `INPUT_INVALID`. */
export type Attacher = (
  references: readonly string[] | undefined,
  context: CallContext,
) => Promise<Attached | undefined>

export function createAttacher({ paths, attachments }: Pick<Services, 'paths' | 'attachments'>): Attacher {
  const openFiles = createFilesOpener(paths)
  /** What calls have handed in, by the call and what it names: a new attempt means the same files. */
  const before = new Map<string, readonly string[]>()

  /** The ids of files by their paths. What is wrong with one is found before any of them is handed in. */
  async function handIn(wanted: readonly string[], context: CallContext): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>()
    const [first] = wanted
    if (first === undefined) return ids
    const service = await attachments()
    const actor = actorOf(context)
    const folder = service.folderOf(actor)
    if (folder === undefined) throw notHere(first)
    return openFiles({ folder, paths: wanted, maxBytes: service.maxBytes }, async files => {
      for (const [i, file] of files.entries()) ids.set(wanted[i] ?? '', await service.receive(actor, file))
      return ids
    })
  }

  async function idsOf(named: readonly string[], context: CallContext): Promise<readonly string[]> {
    const wanted = new Set(named.filter(reference => !isAttachmentId(reference)))
    const ids = await handIn([...wanted], context)
    return named.map(reference => ids.get(reference) ?? reference)
  }

  return async (named, context) => {
    if (named === undefined || named.length === 0) return undefined
    const key = JSON.stringify([context.idempotencyKey, named])
    const attachments = before.get(key) ?? (await idsOf(named, context))
    before.set(key, attachments)
    const [oldest] = before.size > MOST_REMEMBERED ? before.keys() : []
    if (oldest !== undefined) before.delete(oldest)
    return { attachments, named }
  }
}

/** What the tools say about the input. */
export const ATTACHMENTS_INPUT =
  'Files that go with it. Each is the id of an attachment that was uploaded before ("att_…") or, where your tools run beside you ' +
  '(quartermaster connect, or in your own process), the path of a file in your workspace folder. 25 MB per file unless set ' +
  'otherwise. All of them are sent, or nothing is.'

function notHere(path: string): AppError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path
  const message = `"${escapeLine(shown)}" is not the id of an attachment, and over HTTP this server cannot open your paths.`
  const next =
    'Upload the file to POST /api/v1/attachments and give its id ("att_…"), or connect with "quartermaster connect".'
  return new AppError('INPUT_INVALID', `${message} ${next} Nothing was sent.`)
}

/** Opens the files of an agent that go with a message, all of them or none, and does something with them while they are open. */
export type FilesOpener = <T>(request: FilesRequest, work: (files: readonly OpenedFile[]) => Promise<T>) => Promise<T>

export interface FilesRequest {
  /** The agent's `workspaceDir`. */
  readonly folder: string
  /** As the agent wrote them: absolute, or from that folder on. */
  readonly paths: readonly string[]
  /** The most that one of them may have. */
  readonly maxBytes: number
}

export interface OpenedFile extends FileToAttach {
  /** Stays the same until the file is written to. */
  readonly identity: string
}

const WORDS: WallWords = { look: 'a listing of that folder', setting: 'workspaceDir' }
const PIECE_BYTES = 64 * 1024

/**
 * Opens regular files inside an agent's folder and nothing else. Each is opened once: what is sent is what was looked at,
 * whatever its path means by then. Throws in words for the agent.
 */
export function createFilesOpener(paths: Paths): FilesOpener {
  const walls = createWalls({ paths, words: WORDS, anyNames: true })
  return ({ folder, paths: wanted, maxBytes }, work) => {
    const config = { roots: [{ label: folder, path: folder }], base: folder, editProject: false }
    return walls.enter(config, async sandbox => {
      const files: OpenedFile[] = []
      for (const path of wanted) files.push(await inWords(path, () => openFile(sandbox, path, maxBytes)))
      return work(files)
    })
  }
}

async function openFile(sandbox: Sandbox, path: string, maxBytes: number): Promise<OpenedFile> {
  const found = await sandbox.find(path)
  refuseUnlessFile(found, path)
  const handle = await sandbox.open(found.pinned)
  const { dev, ino, size, mtimeNs, ctimeNs } = await handle.stat({ bigint: true })
  if (size > maxBytes) throw tooLarge(path, maxBytes)
  const name = toStorable(basename(found.display))
  const judged = detectContent(await readUpTo(handle, HEAD_BYTES), name)
  const mediaType = judged.kind === 'text' ? 'text/plain' : judged.mimeType
  // Each reading begins at its start: what could not be sent is sent once more.
  const content = { [Symbol.asyncIterator]: () => piecesOf(handle, path) }
  // A program can set the modification time of a file, but not its change time.
  const identity = [dev, ino, size, mtimeNs, ctimeNs].join(':')
  return { name, mediaType, size: Number(size), content, identity }
}

function refuseUnlessFile({ kind }: Found, path: string): void {
  if (kind === 'folder') throw new Refusal(`"${path}" is a folder; pack it into one file and attach that.`)
  if (kind !== 'file') throw new Refusal(`"${path}" is a pipe, socket or device; only files can be attached.`)
}

function tooLarge(path: string, maxBytes: number): AppError {
  const message = `"${escapeLine(path)}" is larger than ${maxBytes} bytes, the most that an attachment has. Nothing was sent.`
  return new AppError('LIMIT_EXCEEDED', message, { details: { limit: maxBytes } })
}

async function* piecesOf(handle: FileHandle, path: string): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const piece = await inWords(path, () => readUpTo(handle, PIECE_BYTES, position))
    if (piece.length > 0) yield piece
    position += piece.length
    if (piece.length < PIECE_BYTES) return
  }
}

/** Messages of the file system name absolute paths, and are not passed on. */
async function inWords<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(path, error, WORDS)
    if (refusal)
      throw new AppError('INPUT_INVALID', `${escapeLine(refusal.message)} Nothing was sent.`, { cause: error })
    const code = errnoOf(error)
    if (code === undefined) throw error
    throw new AppError('INTERNAL', `The file system answered ${code} for "${escapeLine(path)}". Nothing was sent.`, {
      cause: error,
    })
  }
}
