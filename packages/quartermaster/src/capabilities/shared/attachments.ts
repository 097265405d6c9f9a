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

const MOST_REMEMBERED = 200 // Calls are retried within minutes.

/** The files of a message: their ids, and the references that the agent gave. */
export interface Attached {
  readonly attachments: readonly string[]
  readonly named: readonly string[]
}

/** Turns an agent's references into ids; uploads paths, where the agent has a folder here. Throws `INPUT_INVALID`. */
export type Attacher = (
  references: readonly string[] | undefined,
  context: CallContext,
) => Promise<Attached | undefined>

export function createAttacher({ paths, attachments }: Pick<Services, 'paths' | 'attachments'>): Attacher {
  const openFiles = createFilesOpener(paths)
  /** Uploaded ids by call and references: a new attempt at a call uses the same files. */
  const before = new Map<string, readonly string[]>()

  /** Uploads files and answers their ids by path. Opens all of them first, so that one bad file prevents the upload. */
  async function upload(wanted: readonly string[], context: CallContext): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>()
    const [first] = wanted
    if (first === undefined) return ids
    const service = await attachments()
    const actor = actorOf(context)
    const folder = service.folderOf(actor)
    if (folder === undefined) throw cannotOpenPaths(first)
    return openFiles({ folder, paths: wanted, maxBytes: service.maxBytes }, async files => {
      for (const [i, file] of files.entries()) ids.set(wanted[i] ?? '', await service.receive(actor, file))
      return ids
    })
  }

  async function idsOf(named: readonly string[], context: CallContext): Promise<readonly string[]> {
    const wanted = new Set(named.filter(reference => !isAttachmentId(reference)))
    const ids = await upload([...wanted], context)
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

export const ATTACHMENTS_INPUT =
  'Files that go with it. Each is the id of an attachment that was uploaded before ("att_…") or, where your tools run beside you ' +
  '(quartermaster connect, or in your own process), the path of a file in your workspace folder. 25 MB per file unless set ' +
  'otherwise. All of them are sent, or nothing is.'

function cannotOpenPaths(path: string): AppError {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path
  const message = `"${escapeLine(shown)}" is not the id of an attachment, and over HTTP this server cannot open your paths.`
  const next =
    'Upload the file to POST /api/v1/attachments and give its id ("att_…"), or connect with "quartermaster connect".'
  return new AppError('INPUT_INVALID', `${message} ${next} Nothing was sent.`)
}

/** Opens all files of a message, or none, and keeps them open during the work. */
export type FilesOpener = <T>(request: FilesRequest, work: (files: readonly OpenedFile[]) => Promise<T>) => Promise<T>

export interface FilesRequest {
  /** The agent's `workspaceDir`. */
  readonly folder: string
  /** As the agent wrote them: absolute, or from that folder on. */
  readonly paths: readonly string[]
  /** The limit for each file. */
  readonly maxBytes: number
}

export interface OpenedFile extends FileToAttach {
  /** Stays the same until the file is written to. */
  readonly identity: string
}

const MESSAGES: WallWords = { look: 'a listing of that folder', setting: 'workspaceDir' }
const PIECE_BYTES = 64 * 1024

/**
 * Opens only regular files inside an agent's folder. Each is opened once, so that the sent file is the checked one even
 * when its path changes. Error messages are for the agent.
 */
export function createFilesOpener(paths: Paths): FilesOpener {
  const walls = createWalls({ paths, words: MESSAGES, anyNames: true })
  return ({ folder, paths: wanted, maxBytes }, work) => {
    const config = { roots: [{ label: folder, path: folder }], base: folder, editProject: false }
    return walls.enter(config, async sandbox => {
      const files: OpenedFile[] = []
      for (const path of wanted) files.push(await asAppError(path, () => openFile(sandbox, path, maxBytes)))
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
  // Each iteration reads from the start, so that sending can be repeated.
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
    const piece = await asAppError(path, () => readUpTo(handle, PIECE_BYTES, position))
    if (piece.length > 0) yield piece
    position += piece.length
    if (piece.length < PIECE_BYTES) return
  }
}

/** Replaces messages of the file system, which contain absolute paths. */
async function asAppError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const refusal = refusalOf(path, error, MESSAGES)
    if (refusal)
      throw new AppError('INPUT_INVALID', `${escapeLine(refusal.message)} Nothing was sent.`, { cause: error })
    const code = errnoOf(error)
    if (code === undefined) throw error
    throw new AppError('INTERNAL', `The file system answered ${code} for "${escapeLine(path)}". Nothing was sent.`, {
      cause: error,
    })
  }
}
