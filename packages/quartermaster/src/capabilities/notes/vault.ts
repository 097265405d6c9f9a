import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { fold, sizeText } from '../shared/text.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import type { Sandbox, Walls } from '../shared/walls/sandbox.ts'
import type { NotesConfig } from './config.ts'
import {
  Changed,
  createDiskStore,
  type DiskStore,
  MOST_WRITTEN_BYTES,
  type NoteStore,
  type NoteWrite,
  ObsidianUnavailable,
  type StoredNote,
} from './disk-store.ts'
import type { Obsidian, ObsidianServer } from './obsidian.ts'
import type { ObsidianClient } from './obsidian-client.ts'

/** An agent's notes during one call. */
export interface Vault {
  /** The text of a note; `undefined` when there is none. */
  read(path: string): Promise<string | undefined>
  /** Reads, changes and writes a note; starts again when it was written meanwhile. `undefined` leaves the note alone. */
  edit(path: string, change: Change): Promise<Edited>
  /** How the notes were reached so far. */
  routeUsed(): RouteUsed
  readonly sandbox: Sandbox
}

type Change = (text: string | undefined) => string | undefined

interface Edited {
  readonly changed: boolean
  readonly created: boolean
}

/** The vaults of all agents. */
export interface Vaults {
  enter<T>(context: CallContext<NotesConfig>, work: (vault: Vault) => Promise<T>): Promise<T>
}

// A note that changes more often within one call is written all the time.
const ATTEMPTS = 5

export function createVaults(walls: Walls, obsidian: Obsidian): Vaults {
  const queue = createPathQueue()
  return {
    enter: ({ config, signal, log }, work) =>
      walls.enter(config, async sandbox => {
        const disk = createDiskStore(sandbox, config.vault, signal)
        const route = createRoute(config, disk, { obsidian, signal, log })
        try {
          return await work({
            sandbox,
            routeUsed: route.routeUsed,
            read: async path => (await route.read(path))?.text,
            edit: (path, change) =>
              queue(`${config.vault}\n${fold(path)}`, () => editNote(path, change, { route, signal })),
          })
        } finally {
          route.close()
        }
      }),
  }
}

async function editNote(
  path: string,
  change: Change,
  { route, signal }: { route: Route; signal: AbortSignal },
): Promise<Edited> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = await route.read(path)
    const text = change(seen?.text)
    if (text === undefined || text === seen?.text) return { changed: false, created: false }
    refuseTooLong(path, text)
    try {
      await route.write(path, { text, seen })
      return { changed: true, created: seen === undefined }
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      // An editor that saves is done within moments.
      await pause(attempt * 10, undefined, { signal })
    }
  }
  throw new AppError(
    'EDIT_CONFLICT',
    `"${path}" was written by someone else each time it was about to be changed (${ATTEMPTS} times). It was left alone; try again later.`,
  )
}

function refuseTooLong(path: string, text: string): void {
  const size = Buffer.byteLength(text)
  if (size > MOST_WRITTEN_BYTES)
    throw new Refusal(
      `"${path}" would have ${sizeText(size)}; notes are written up to ${sizeText(MOST_WRITTEN_BYTES)}.`,
    )
}

/** How notes were read and written. */
export interface RouteUsed {
  readonly through: 'obsidian' | 'disk'
  /** Why the disk was used although Obsidian is configured. */
  readonly fallback?: string
}

/** Reaches the notes of one call through Obsidian; once that fails, by disk for the rest of the call. */
interface Route extends NoteStore {
  routeUsed(): RouteUsed
  close(): void
}

function createRoute(
  { rest, vault, label }: NotesConfig,
  disk: DiskStore,
  { obsidian, signal, log }: { obsidian: Obsidian; signal: AbortSignal; log: Log },
): Route {
  if (!rest) return { read: disk.read, write: disk.write, routeUsed: () => ({ through: 'disk' }), close: () => {} }
  const server: ObsidianServer = { rest, vault, label }
  let client: ObsidianClient | undefined
  let fallback: string | undefined

  async function tryObsidian<T>(through: (client: ObsidianClient) => Promise<T>, byDisk: () => Promise<T>): Promise<T> {
    if (fallback !== undefined) return byDisk()
    try {
      client ??= await obsidian.open(server, signal)
      return await through(client)
    } catch (error) {
      if (!(error instanceof ObsidianUnavailable)) throw error
      fallback = error.message
      if (!error.isKnown) {
        log.warn('notes go by disk', { reason: error.message })
        obsidian.report(server, error.message)
      }
      return byDisk()
    }
  }

  return {
    read: path =>
      tryObsidian(
        client => readBoth(path, disk, client),
        () => disk.read(path),
      ),
    write: (path, write) =>
      tryObsidian(
        client => writeThrough(path, write, { disk, client }),
        () => disk.write(path, write),
      ),
    // Calls that touched no note only used the folder.
    routeUsed: () => {
      if (fallback !== undefined) return { through: 'disk', fallback }
      return { through: client ? 'obsidian' : 'disk' }
    },
    close: () => client?.close(),
  }
}

// An editor may save between two reads; a lasting difference means another vault.
const READS = 3

/** Reads a note on disk and in Obsidian. Texts that differ mean that Obsidian has another vault open. */
async function readBoth(path: string, disk: DiskStore, client: ObsidianClient): Promise<StoredNote | undefined> {
  for (let look = 0; look < READS; look++) {
    const here = await disk.read(path)
    const there = await client.get(path)
    if (here?.text === there?.text) return there
  }
  throw new ObsidianUnavailable(`Obsidian shows another "${path}" than the folder has; it may have another vault open.`)
}

async function writeThrough(
  path: string,
  write: NoteWrite,
  { disk, client }: { disk: DiskStore; client: ObsidianClient },
): Promise<void> {
  await disk.prepare(path, write.seen)
  const now = await client.get(path)
  if (now?.text !== write.seen?.text) throw new Changed()
  const seen = write.seen && { ...write.seen, tag: now?.tag }
  const doubt = await client.put(path, { text: write.text, seen }).then(() => undefined, doubtReason)
  if ((await disk.read(path))?.text === write.text) return
  throw new AppError(
    'OUTCOME_UNKNOWN',
    doubt === undefined
      ? `Obsidian reported that it wrote "${path}", but the folder does not show it. Check with note_read, and whether Obsidian has this vault open.`
      : `The connection to Obsidian was lost while "${path}" was written (${doubt}). Check with note_read whether the text is there.`,
  )
}

/** Why a write may have taken place. Throws errors that certainly wrote nothing. */
function doubtReason(error: unknown): string {
  if (error instanceof ObsidianUnavailable && error.mayHaveWritten) return error.message
  throw error
}

/** Runs edits of the same note one after the other: at the same time both would find it unchanged, and one would be lost. */
function createPathQueue() {
  const last = new Map<string, Promise<unknown>>()
  return <T>(path: string, work: () => Promise<T>): Promise<T> => {
    const turn = (last.get(path) ?? Promise.resolve()).then(work, work)
    const settled = turn
      .catch(() => {})
      .finally(() => {
        if (last.get(path) === settled) last.delete(path)
      })
    last.set(path, settled)
    return turn
  }
}
