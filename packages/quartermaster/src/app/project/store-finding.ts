import { openDataFolder } from '../../adapters/data-folder/index.ts'
import type { DatabaseCondition } from '../../adapters/storage-postgres/index.ts'
import { inspectStore, type StoreCondition, storeFile } from '../../adapters/storage-sqlite/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import { type Finding, messageOf } from '../../contracts/index.ts'
import { movedWords, type StoreChoice } from './store-choice.ts'

/** A look at the store. */
export interface StoreLook {
  /** What is to be said of it. */
  readonly finding: Finding
  /** Whether there is one to be read. To open one that is not there would make it, over what is to be put back from a backup. */
  readonly isReadable: boolean
}

/** Looks at the store. It is not opened: an `up` may own it. */
export async function lookAtStore(dataDir: string, { databaseUrl }: StoreChoice): Promise<StoreLook> {
  if (databaseUrl !== undefined) return lookAtServer(databaseUrl)
  const { dir, hasHistory, movedMark } = openDataFolder(dataDir)
  const mark = await movedMark().catch((error: unknown) => ({ problem: messageOf(error) }))
  if (mark)
    return unreadable({ level: 'error', ...('problem' in mark ? { what: mark.problem } : movedWords(dir, mark)) })
  const condition = await inspectStore(dir)
  if (condition.state === 'absent')
    return unreadable(hasHistory() ? lost(dir) : { level: 'ok', what: 'The store is not made yet.' })
  const finding = findingOf(condition, storeFile(dir))
  return { finding, isReadable: finding.level === 'ok' }
}

function unreadable(finding: Finding): StoreLook {
  return { finding, isReadable: false }
}

function findingOf(condition: Exclude<StoreCondition, { state: 'absent' }>, file: string): Finding {
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

function lost(dir: string): Finding {
  return {
    level: 'warning',
    what: `The store "${storeFile(dir)}" is missing or empty, although this folder has been used.`,
    fix:
      'Put store.db back from a backup before the next start. Otherwise that makes a new store, and all tokens, operations ' +
      'and the audit are gone.',
  }
}

async function lookAtServer(url: string): Promise<StoreLook> {
  // Loaded here, because most have their store in a file.
  const { inspectPostgres } = await import('../../adapters/storage-postgres/index.ts')
  try {
    const condition = await inspectPostgres({ url, log: silentLog })
    const { shape, newest } = condition
    return { finding: databaseFinding(condition), isReadable: shape > 0 && shape <= newest }
  } catch (error) {
    // What keeps it from being the store, with what to do about it.
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
