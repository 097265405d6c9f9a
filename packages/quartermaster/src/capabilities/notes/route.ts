import { AppError } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import { Away } from './away.ts'
import type { NotesConfig } from './config.ts'
import type { DiskStore } from './disk-store.ts'
import { Changed, type Kept, type NoteStore, type NoteWrite } from './note-store.ts'
import type { Obsidian, ObsidianWay } from './obsidian.ts'
import type { ObsidianClient } from './obsidian-client.ts'

/** Which way notes were read and written. */
export interface Taken {
  readonly through: 'obsidian' | 'disk'
  /** Why it was the disk although Obsidian is configured. */
  readonly fallback?: string
}

/** The way to the notes of one call: through Obsidian while that works, else by disk for the rest of the call. */
export interface Route extends NoteStore {
  taken(): Taken
  close(): void
}

export interface RouteDeps {
  config: NotesConfig
  disk: DiskStore
  obsidian: Obsidian
  signal: AbortSignal
  log: Log
}

export function createRoute({ config, disk, obsidian, signal, log }: RouteDeps): Route {
  const { rest, vault, label } = config
  if (!rest) return { read: disk.read, write: disk.write, taken: () => ({ through: 'disk' }), close: () => {} }
  const way: ObsidianWay = { rest, vault, label }
  let client: ObsidianClient | undefined
  let fallback: string | undefined

  /** Does something through Obsidian, or by disk from the first time on that Obsidian cannot. */
  async function take<T>(through: (client: ObsidianClient) => Promise<T>, byDisk: () => Promise<T>): Promise<T> {
    if (fallback !== undefined) return byDisk()
    try {
      client ??= await obsidian.open(way, signal)
      return await through(client)
    } catch (error) {
      if (!(error instanceof Away)) throw error
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
    // A call that touched no note asked nobody but the folder.
    taken: () => (client && fallback === undefined ? { through: 'obsidian' } : toDisk(fallback)),
    close: () => client?.close(),
  }
}

function toDisk(fallback: string | undefined): Taken {
  return fallback === undefined ? { through: 'disk' } : { through: 'disk', fallback }
}

// Between two looks somebody may save; the same difference twice is none of time but of place.
const LOOKS = 3

/** Reads past the walls, and only what is the same on both sides: otherwise another vault is open there. */
async function readBoth(path: string, disk: DiskStore, client: ObsidianClient): Promise<Kept | undefined> {
  for (let look = 0; look < LOOKS; look++) {
    const here = await disk.read(path)
    const there = await client.get(path)
    if (here?.text === there?.text) return there
  }
  throw new Away(`Obsidian shows another "${path}" than the folder has; it may have another vault open.`)
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
  if (error instanceof Away && error.mayHaveWritten) return error.message
  throw error
}
