import { constants } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { relative, sep } from 'node:path'
import { TextDecoder } from 'node:util'
import { writeAtomically } from '../shared/atomic-write.ts'
import { kindOfStat, type Pinned } from '../shared/pinned.ts'
import type { Place } from '../shared/place.ts'
import { errnoOf, Refusal } from '../shared/refusal.ts'
import type { Sandbox } from '../shared/sandbox.ts'
import { sizeText } from '../shared/size-text.ts'
import { readUpTo } from '../shared/text.ts'
import { Changed, type Kept, MOST_READ_BYTES, type NoteStore, type NoteWrite } from './note-store.ts'

export interface DiskStoreDeps {
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

/** What came under the name first is somebody else's. */
function asChanged(error: unknown): never {
  throw errnoOf(error) === 'EEXIST' ? new Changed() : error
}
