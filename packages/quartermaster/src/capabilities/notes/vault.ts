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
  type Kept,
  MOST_WRITTEN_BYTES,
  type NoteStore,
  type NoteWrite,
  ObsidianUnavailable,
} from './disk-store.ts'
import type { Obsidian, ObsidianServer } from './obsidian.ts'
import type { ObsidianClient } from './obsidian-client.ts'

/** An agent's notes during one call. */
export interface Vault {
  /** The text of a note, or nothing when there is none. */
  read(path: string): Promise<string | undefined>
  /**
   * Reads a note, changes it and writes the result if the note was not written meanwhile; otherwise starts again. A change that
   * returns `undefined` leaves the note alone.
   */
  edit(path: string, change: Change): Promise<Edited>
  /** Which way the notes took so far. */
  taken(): Taken
  readonly sandbox: Sandbox
}

type Change = (text: string | undefined) => string | undefined

interface Edited {
  readonly changed: boolean
  readonly created: boolean
}

interface VaultsDeps {
  walls: Walls
  obsidian: Obsidian
  queue: PathQueue
}

/** The vaults of all agents. */
export interface Vaults {
  enter<T>(context: CallContext<NotesConfig>, work: (vault: Vault) => Promise<T>): Promise<T>
}

// A note that changes more often than this within one call is written all the time.
const ATTEMPTS = 5

export function createVaults({ walls, obsidian, queue }: VaultsDeps): Vaults {
  return {
    enter: ({ config, signal, log }, work) =>
      walls.enter(config, async sandbox => {
        const disk = createDiskStore({ sandbox, vault: config.vault, signal })
        const route = createRoute({ config, disk, obsidian, signal, log })
        try {
          return await work({
            sandbox,
            taken: route.taken,
            read: async path => (await route.read(path))?.text,
            edit: (path, change) =>
              queue(`${config.vault}\n${fold(path)}`, () => editNote({ route, path, change, signal })),
          })
        } finally {
          route.close()
        }
      }),
  }
}

interface EditOptions {
  route: Route
  path: string
  change: Change
  signal: AbortSignal
}

async function editNote({ route, path, change, signal }: EditOptions): Promise<Edited> {
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

/** Which way notes were read and written. */
export interface Taken {
  readonly through: 'obsidian' | 'disk'
  /** Why it was the disk although Obsidian is configured. */
  readonly fallback?: string
}

/** The way to the notes of one call: through Obsidian while that works, else by disk for the rest of the call. */
interface Route extends NoteStore {
  taken(): Taken
  close(): void
}

interface RouteDeps {
  config: NotesConfig
  disk: DiskStore
  obsidian: Obsidian
  signal: AbortSignal
  log: Log
}

function createRoute({ config, disk, obsidian, signal, log }: RouteDeps): Route {
  const { rest, vault, label } = config
  if (!rest) return { read: disk.read, write: disk.write, taken: () => ({ through: 'disk' }), close: () => {} }
  const way: ObsidianServer = { rest, vault, label }
  let client: ObsidianClient | undefined
  let fallback: string | undefined

  /** Does something through Obsidian, or by disk from the first time on that Obsidian cannot. */
  async function take<T>(through: (client: ObsidianClient) => Promise<T>, byDisk: () => Promise<T>): Promise<T> {
    if (fallback !== undefined) return byDisk()
    try {
      client ??= await obsidian.open(way, signal)
      return await through(client)
    } catch (error) {
      if (!(error instanceof ObsidianUnavailable)) throw error
      fallback = error.message
      if (!error.isKnown) {
        log.warn('notes go by disk', { reason: error.message })
        obsidian.report(way, error.message)
      }
      return byDisk()
    }
  }

  return {
    read: path =>
      take(
        client => readBoth(path, disk, client),
        () => disk.read(path),
      ),
    write: (path, write) =>
      take(
        client => writeThrough(path, write, { disk, client }),
        () => disk.write(path, write),
      ),
    // A call that touched no note only used the folder.
    taken: () => (client && fallback === undefined ? { through: 'obsidian' } : toDisk(fallback)),
    close: () => client?.close(),
  }
}

function toDisk(fallback: string | undefined): Taken {
  return fallback === undefined ? { through: 'disk' } : { through: 'disk', fallback }
}

// An editor may save between two reads; a difference that stays is another vault.
const LOOKS = 3

/** Reads past the walls, and only what is the same on both sides: otherwise another vault is open there. */
async function readBoth(path: string, disk: DiskStore, client: ObsidianClient): Promise<Kept | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const here = await disk.read(path)
    const there = await client.get(path)
    if (here?.text === there?.text) return there
  }
  throw new ObsidianUnavailable(`Obsidian shows another "${path}" than the folder has; it may have another vault open.`)
}

interface Through {
  disk: DiskStore
  client: ObsidianClient
}

async function writeThrough(path: string, write: NoteWrite, { disk, client }: Through): Promise<void> {
  await disk.prepare(path, write.seen)
  const now = await client.get(path)
  if (now?.text !== write.seen?.text) throw new Changed()
  const seen = write.seen && { ...write.seen, tag: now?.tag }
  const doubt = await client.put(path, { text: write.text, seen }).then(() => 'said', doubtful)
  if ((await disk.read(path))?.text === write.text) return
  throw new AppError(
    'OUTCOME_UNKNOWN',
    doubt === 'said'
      ? `Obsidian said that it wrote "${path}", but the folder does not show it. Look with note_read, and whether it has this vault open.`
      : `The connection to Obsidian was lost while "${path}" was written (${doubt}). Look with note_read whether it is there.`,
  )
}

/** The reason to doubt whether a write took place. Whatever surely wrote nothing is thrown on. */
function doubtful(error: unknown): string {
  if (error instanceof ObsidianUnavailable && error.mayHaveWritten) return error.message
  throw error
}

/** Does works on the same thing one after the other, and works on different things at once. */
type PathQueue = <T>(path: string, work: () => Promise<T>) => Promise<T>

/** Two edits of this process would otherwise both look, both find nothing changed, and one would be lost. */
export function createPathQueue(): PathQueue {
  const last = new Map<string, Promise<unknown>>()
  return (path, work) => {
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
