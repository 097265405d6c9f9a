import type { FileHandle } from 'node:fs/promises'
import { basename } from 'node:path'
import { AppError, type FileToAttach, toKeepable } from '../../contracts/index.ts'
import type { Paths } from '../../core/catalogue/index.ts'
import { Refusal, refusalOf } from './refusal.ts'
import { createWalls, type Found, type Sandbox } from './sandbox.ts'
import { HEAD_BYTES, judgeContent, readUpTo } from './text.ts'
import type { WallWords } from './walls-config.ts'

/** Opens a file of an agent that goes with a message, and does something with it while it is open. */
export type FileOpener = <T>(request: FileRequest, work: (file: OpenedFile) => Promise<T>) => Promise<T>

export interface OpenedFile extends FileToAttach {
  /** The same for as long as nobody has written to the file. */
  readonly identity: string
}

export interface FileRequest {
  /** The agent's `workspaceDir`. */
  readonly folder: string
  /** As the agent wrote it: absolute, or from that folder on. */
  readonly path: string
}

const WORDS: WallWords = { look: 'a listing of that folder', setting: 'workspaceDir' }
const PIECE_BYTES = 64 * 1024

/**
 * Opens regular files inside an agent's folder and nothing else. It is opened once: what is sent is what was looked at, whatever
 * its path means by then. Throws `INPUT_INVALID` in words for the agent.
 */
export function createFileOpener(paths: Paths): FileOpener {
  const walls = createWalls({ paths, words: WORDS })
  return async ({ folder, path }, work) => {
    const config = { roots: [{ label: folder, path: folder }], base: folder, editProject: false }
    try {
      return await walls.enter(config, async sandbox => work(await openFile(sandbox, path)))
    } catch (error) {
      const refusal = refusalOf(path, error, WORDS)
      if (!refusal) throw error
      throw new AppError('INPUT_INVALID', `${refusal.message} Nothing was sent.`, { cause: error })
    }
  }
}

async function openFile(sandbox: Sandbox, path: string): Promise<OpenedFile> {
  const found = await sandbox.find(path)
  refuseUnlessFile(found, path)
  const handle = await sandbox.open(found.pinned)
  const name = toKeepable(basename(found.display))
  const judged = judgeContent(await readUpTo(handle, HEAD_BYTES), name)
  const mediaType = judged.kind === 'text' ? 'text/plain' : judged.mimeType
  const { dev, ino, size, mtimeNs } = await handle.stat({ bigint: true })
  // Each reading begins at its start: what could not be sent is sent once more.
  const content = { [Symbol.asyncIterator]: () => piecesOf(handle) }
  return { name, mediaType, size: Number(size), content, identity: [dev, ino, size, mtimeNs].join(':') }
}

function refuseUnlessFile({ kind }: Found, path: string): void {
  if (kind === 'folder') throw new Refusal(`"${path}" is a folder; pack it into one file and attach that.`)
  if (kind !== 'file') throw new Refusal(`"${path}" is a pipe, socket or device; only files can be attached.`)
}

async function* piecesOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const piece = await readUpTo(handle, PIECE_BYTES, position)
    if (piece.length > 0) yield piece
    position += piece.length
    if (piece.length < PIECE_BYTES) return
  }
}
