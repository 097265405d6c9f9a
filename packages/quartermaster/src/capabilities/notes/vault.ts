import { setTimeout as pause } from 'node:timers/promises'
import { AppError } from '../../contracts/index.ts'
import type { CallContext } from '../../core/catalogue/index.ts'
import { fold } from '../shared/fold.ts'
import { Refusal } from '../shared/refusal.ts'
import type { Sandbox, Walls } from '../shared/sandbox.ts'
import { sizeText } from '../shared/size-text.ts'
import type { NotesConfig } from './config.ts'
import { createDiskStore } from './disk-store.ts'
import { Changed, MOST_WRITTEN_BYTES } from './note-store.ts'
import type { Obsidian } from './obsidian.ts'
import type { PathQueue } from './path-queue.ts'
import { createRoute, type Route, type Taken } from './route.ts'

/** An agent's notes during one call. */
export interface Vault {
  /** The text of a note, or nothing when there is none. */
  read(path: string): Promise<string | undefined>
  /**
   * Changes a note: it is read, the change is made, and the result is written if nobody wrote meanwhile; otherwise all of
   * it again. A change that gives nothing leaves the note alone.
   */
  edit(path: string, change: Change): Promise<Edited>
  /** Which way the notes took so far. */
  taken(): Taken
  readonly sandbox: Sandbox
}

export type Change = (text: string | undefined) => string | undefined

export interface Edited {
  readonly changed: boolean
  readonly created: boolean
}

export interface VaultsDeps {
  walls: Walls
  obsidian: Obsidian
  queue: PathQueue
}

/** The vaults of all agents. */
export interface Vaults {
  enter<T>(context: CallContext<NotesConfig>, work: (vault: Vault) => Promise<T>): Promise<T>
}

// Who saves more often than this within one call is a program that writes all the time.
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
