import { type MovedMark, openDataFolder } from '../../adapters/data-folder/index.ts'
import type { DatabaseCondition } from '../../adapters/storage-postgres/index.ts'
import { inspectStore, type StoreCondition, storeFile } from '../../adapters/storage-sqlite/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import { AppError, type Finding, messageOf } from '../../contracts/index.ts'

/** The store that the environment names. It is not in a file that others may read, and never shown. */
export interface StoreChoice {
  /** A PostgreSQL database; without one the store is a file in the data folder. */
  readonly databaseUrl: string | undefined
  /** The sealing key of that database, the same for all its processes; the key of the data folder when absent. */
  readonly sealingKey: string | undefined
}

/** The variables that name the store. */
export const STORE_VARIABLES = { databaseUrl: 'DATABASE_URL', sealingKey: 'QUARTERMASTER_SEALING_KEY' } as const

/** Reads the choice; an empty variable counts as unset. */
export function readStoreChoice(env: Readonly<Record<string, string | undefined>>): StoreChoice {
  return {
    databaseUrl: env[STORE_VARIABLES.databaseUrl]?.trim() || undefined,
    sealingKey: env[STORE_VARIABLES.sealingKey]?.trim() || undefined,
  }
}

/** Where the store is, for people: without a password. */
export async function storePlace(
  { databaseUrl }: StoreChoice,
  dataDir: string,
): Promise<{ readonly kind: 'sqlite' | 'postgresql'; readonly place: string }> {
  if (databaseUrl === undefined) return { kind: 'sqlite', place: storeFile(dataDir) }
  // Loaded on demand, because most have their store in a file.
  const { parseDatabaseUrl } = await import('../../adapters/storage-postgres/index.ts')
  return { kind: 'postgresql', place: parseDatabaseUrl(databaseUrl).text }
}

/** Explains that the contents of a file were moved to a database. */
function movedText(dir: string, { file, moved }: MovedMark): { readonly what: string; readonly fix: string } {
  const where = moved ? `${moved.to} at ${moved.at}` : 'another database'
  return {
    what: `What is in "${storeFile(dir)}" was moved to ${where}, so the file is not used any more.`,
    fix:
      `Set ${STORE_VARIABLES.databaseUrl} to that database. To go back to the file on purpose, and without all that came ` +
      `since, delete "${file}".`,
  }
}

/** Two stores in use would be two histories, and a token revoked in one would be valid in the other. */
export function refuseMoved(dir: string, mark: MovedMark | undefined): void {
  if (!mark) return
  const { what, fix } = movedText(dir, mark)
  throw new AppError('CONFIG_INVALID', `${what} ${fix}`, { details: { folder: dir, ...mark.moved } })
}

interface StoreCheck {
  readonly finding: Finding
  /** Whether the store can be read. Opening a missing one would create it, over what is to be restored from a backup. */
  readonly isReadable: boolean
}

/** Checks the store for `doctor`, without opening it: an `up` may own it. */
export async function checkStore(dataDir: string, { databaseUrl }: StoreChoice): Promise<StoreCheck> {
  if (databaseUrl !== undefined) return checkDatabase(databaseUrl)
  const { dir, hasHistory, movedMark } = openDataFolder(dataDir)
  const mark = await movedMark().catch((error: unknown) => ({ problem: messageOf(error) }))
  if (mark)
    return unreadable({ level: 'error', ...('problem' in mark ? { what: mark.problem } : movedText(dir, mark)) })
  const condition = await inspectStore(dir)
  if (condition.state === 'absent')
    return unreadable(hasHistory() ? missing(dir) : { level: 'ok', what: 'The store is not made yet.' })
  const finding = fileFinding(condition, storeFile(dir))
  return { finding, isReadable: finding.level === 'ok' }
}

function unreadable(finding: Finding): StoreCheck {
  return { finding, isReadable: false }
}

function fileFinding(condition: Exclude<StoreCondition, { state: 'absent' }>, file: string): Finding {
  switch (condition.state) {
    case 'sound':
      return { level: 'ok', what: 'The store is sound.' }
    case 'busy':
      return { level: 'ok', what: 'The store is in use, so it was not looked at.' }
    case 'tooNew':
      return {
        level: 'error',
        what: `The store "${file}" was written by a newer version (shape ${condition.version}; this one knows ${condition.newest}).`,
        fix: 'Install that version or a later one, or choose another folder with --data.',
      }
    case 'unreadable':
      return {
        level: 'error',
        what: `The store "${file}" cannot be looked at: ${condition.reason}.`,
        fix: 'See that the user who runs Quartermaster may read and write it and its folder, then look again.',
      }
    case 'damaged':
      return { level: 'error', what: `The store "${file}" is damaged: ${condition.reason}.`, fix: FIX_DAMAGE }
  }
}

const FIX_DAMAGE =
  'Stop `quartermaster up`, then put store.db back from a backup. Without one, move store.db, store.db-wal and store.db-shm ' +
  'away; the next start makes a new store, and all tokens, operations and the audit are gone.'

function missing(dir: string): Finding {
  return {
    level: 'warning',
    what: `The store "${storeFile(dir)}" is missing or empty, although this folder has been used.`,
    fix:
      'Put store.db back from a backup before the next start. Otherwise that makes a new store, and all tokens, operations ' +
      'and the audit are gone.',
  }
}

async function checkDatabase(url: string): Promise<StoreCheck> {
  const { inspectPostgres } = await import('../../adapters/storage-postgres/index.ts')
  try {
    const condition = await inspectPostgres({ url, log: silentLog })
    const { shape, newest } = condition
    return { finding: databaseFinding(condition), isReadable: shape > 0 && shape <= newest }
  } catch (error) {
    // The message says why it cannot be the store, and what to do.
    return unreadable({ level: 'error', what: messageOf(error) })
  }
}

function databaseFinding({ place, version, isSynced, shape, newest, nodes }: DatabaseCondition): Finding {
  if (shape > newest)
    return {
      level: 'error',
      what: `The store ${place} was written by a newer version (shape ${shape}; this one knows ${newest}).`,
      fix: 'Install that version or a later one, or name another database in DATABASE_URL.',
    }
  const server = `PostgreSQL ${version}`
  if (!isSynced)
    return {
      level: 'warning',
      what: `The store ${place} (${server}) answers, but fsync is off there: a power cut can lose what was answered.`,
      fix: 'Set fsync to on in its postgresql.conf, and restart it.',
    }
  const users = nodes === 0 ? '' : `; ${nodes === 1 ? 'one process uses' : `${nodes} processes use`} it`
  const state = shape === 0 ? 'answers, and is not made yet' : `answers${users}`
  return { level: 'ok', what: `The store ${place} (${server}) ${state}.` }
}
