import { constants } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { TextDecoder } from 'node:util'
import { readUpTo, sizeText } from '../shared/text.ts'
import { kindOfStat, type Pinned } from '../shared/walls/pinned.ts'
import { type Place, writeAtomically } from '../shared/walls/place.ts'
import { errnoOf, Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox } from '../shared/walls/sandbox.ts'

interface DiskStoreDeps {
  sandbox: Sandbox
  vault: string
  signal: AbortSignal
}

/** The vault as a folder. Every way to a note leads past these walls first, also one that ends in another program. */
export interface DiskStore extends NoteStore {
  /** Looks whether a note may be written and is what was seen, and makes the folders on the way. Throws `Changed`. */
  prepare(path: string, seen: Kept | undefined): Promise<Place>
}

export function createDiskStore({ sandbox, vault, signal }: DiskStoreDeps): DiskStore {
  /** A link inside may lead to a hidden folder, where no notes are. */
  async function refuseHidden(pinned: Pinned, path: string): Promise<void> {
    const way = relative(await realpath(vault), await realpath(pinned.at()))
    if (way.split(sep).some(name => name.startsWith('.') && name !== ''))
      throw new Refusal(`"${path}" leads to a hidden folder, which is not for notes.`)
  }

  async function textOf(place: Place): Promise<string | undefined> {
    const pinned = await sandbox.child(place.folder, place.name)
    return pinned && readPinned(sandbox, pinned, place.display)
  }

  async function prepare(path: string, seen: Kept | undefined): Promise<Place> {
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
      await writeAtomically({ place, data, replace, walker: sandbox.walker, signal, confirm }).catch(asChanged)
    },
  }
}

/** The text of a note that was reached already. */
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

/** Bytes as a text that can be written back as the same bytes; nothing when they are no UTF-8. */
export function decodeNote(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** A file that already has the name was written by another program. */
function asChanged(error: unknown): never {
  throw errnoOf(error) === 'EEXIST' ? new Changed() : error
}

/** A note as it was read. */
export interface Kept {
  /** All of it, also a mark of byte order at the beginning. */
  readonly text: string
  /** What the store calls this very state of it, if it has a word for that. */
  readonly tag?: string | undefined
}

export interface NoteWrite {
  readonly text: string
  /** What was there when the new text was made of it; absent when nothing was. */
  readonly seen: Kept | undefined
}

/** A place where notes are kept. */
export interface NoteStore {
  /** Nothing when there is no such note. */
  read(path: string): Promise<Kept | undefined>
  /** Writes all of a note in one step. Throws `Changed` when what is there is not what was seen. */
  write(path: string, write: NoteWrite): Promise<void>
}

/** Another program wrote the note since it was read. */
export class Changed extends Error {}

/** The largest note that is read. */
export const MOST_READ_BYTES = 8 * 1024 * 1024
/** The largest note that is written: a longer one is no note but data, and every reader of the vault gets slow with it. */
export const MOST_WRITTEN_BYTES = 1024 * 1024

/** Obsidian could not be used. Whether it may have done something all the same is `mayHaveWritten`. */
export class ObsidianUnavailable extends Error {
  readonly mayHaveWritten: boolean
  /** Whether this was known before, so that it is not reported again. */
  readonly isKnown: boolean
  constructor(reason: string, options: { mayHaveWritten?: boolean; isKnown?: boolean; cause?: unknown } = {}) {
    super(reason, { cause: options.cause })
    this.mayHaveWritten = options.mayHaveWritten ?? false
    this.isKnown = options.isKnown ?? false
  }
}
