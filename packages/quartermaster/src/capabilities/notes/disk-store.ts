import { constants } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { TextDecoder } from 'node:util'
import { readUpTo, sizeText } from '../shared/text.ts'
import { kindOfStat, type Pinned } from '../shared/walls/pinned.ts'
import { type Place, writeAtomically } from '../shared/walls/place.ts'
import { errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox } from '../shared/walls/sandbox.ts'

/** The vault as a folder. Every read and write is checked here first, also those that go through Obsidian. */
export interface DiskStore extends NoteStore {
  /** Checks that a note may be written and is unchanged, and makes missing folders. Throws `Changed`. */
  prepare(path: string, seen: StoredNote | undefined): Promise<Place>
}

export function createDiskStore(sandbox: Sandbox, vault: string, signal: AbortSignal): DiskStore {
  /** A link in the vault may lead to a hidden folder. */
  async function refuseHidden(pinned: Pinned, path: string): Promise<void> {
    const inVault = relative(await realpath(vault), await realpath(pinned.at()))
    if (inVault.split(sep).some(name => name.startsWith('.')))
      throw new Refusal(`"${path}" leads to a hidden folder, which is not for notes.`)
  }

  async function textOf(place: Place): Promise<string | undefined> {
    const pinned = await sandbox.child(place.folder, place.name)
    return pinned && readPinned(sandbox, pinned, place.display)
  }

  async function prepare(path: string, seen: StoredNote | undefined): Promise<Place> {
    signal.throwIfAborted()
    const place = await sandbox.place(path, { createFolders: true })
    await refuseHidden(place.folder, path)
    if ((await textOf(place)) !== seen?.text) throw new Changed()
    return place
  }

  return {
    prepare,
    async read(path) {
      const found = await sandbox.seek(path)
      if (!found) return undefined
      if (found.kind !== 'file') throw new Refusal(`"${path}" is not a note but a folder, pipe, socket or device.`)
      await refuseHidden(found.pinned, path)
      return { text: await readPinned(sandbox, found.pinned, path) }
    },
    async write(path: string, { text, seen }: NoteWrite) {
      const place = await prepare(path, seen)
      const confirm = async () => {
        if (seen && (await textOf(place)) !== seen.text) throw new Changed()
      }
      const data = Buffer.from(text)
      const replace = seen !== undefined
      await writeAtomically({ place, data, replace, walker: sandbox.walker, signal, confirm }).catch(error => {
        // Another program has just created the file.
        throw errnoOf(error) === 'EEXIST' ? new Changed() : error
      })
    },
  }
}

/** The text of a pinned note. */
export async function readPinned(sandbox: Sandbox, pinned: Pinned, path: string): Promise<string> {
  if (kindOfStat(pinned.stat) !== 'file') throw new Refusal(`"${path}" is not a file.`)
  const handle = await sandbox.walker.open(pinned, constants.O_RDONLY)
  try {
    const { size } = await handle.stat()
    if (size > MOST_READ_BYTES)
      throw new Refusal(`"${path}" has ${sizeText(size)}; notes are read up to ${sizeText(MOST_READ_BYTES)}.`)
    const text = decodeNote(await readUpTo(handle, size + 1))
    if (text === undefined) throw new Refusal(`"${path}" is no text in UTF-8, so it is left alone.`)
    return text
  } finally {
    await sandbox.walker.close(handle)
  }
}

/** Decodes UTF-8 so that encoding the text gives the same bytes; `undefined` for other bytes. */
export function decodeNote(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A note as it was read. */
export interface StoredNote {
  /** The whole text, with a byte order mark if there is one. */
  readonly text: string
  /** The store's version tag, where it has one. */
  readonly tag?: string | undefined
}

export interface NoteWrite {
  readonly text: string
  /** The note that the new text was made from; absent for a new note. */
  readonly seen: StoredNote | undefined
}

/** Reads and writes notes. */
export interface NoteStore {
  /** `undefined` when there is no such note. */
  read(path: string): Promise<StoredNote | undefined>
  /** Writes a whole note in one step. Throws `Changed` when the present note differs from `seen`. */
  write(path: string, write: NoteWrite): Promise<void>
}

/** Thrown when another program wrote the note since it was read. */
export class Changed extends Error {}

/** The largest note that is read. */
export const MOST_READ_BYTES = 8 * 1024 * 1024
/** The largest note that is written; larger ones slow down every reader of the vault. */
export const MOST_WRITTEN_BYTES = 1024 * 1024

/** Thrown when Obsidian cannot be used. `mayHaveWritten`: a write may have taken place nevertheless. */
export class ObsidianUnavailable extends Error {
  readonly mayHaveWritten: boolean
  /** Known before, and not reported again. */
  readonly isKnown: boolean
  constructor(reason: string, options: { mayHaveWritten?: boolean; isKnown?: boolean; cause?: unknown } = {}) {
    super(reason, { cause: options.cause })
    this.mayHaveWritten = options.mayHaveWritten ?? false
    this.isKnown = options.isKnown ?? false
  }
}
