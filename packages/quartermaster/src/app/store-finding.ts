import { openDataFolder } from '../adapters/data-folder/index.ts'
import { inspectStore, type StoreCondition, storeFile } from '../adapters/storage-sqlite/index.ts'
import type { Finding } from '../contracts/index.ts'

/** What is to be said of the store in a data folder. It is looked at, not opened: an `up` may own it. */
export async function storeFinding(dataDir: string): Promise<Finding> {
  const { dir, hasHistory } = openDataFolder(dataDir)
  const condition = await inspectStore(dir)
  if (condition.state === 'absent')
    return hasHistory() ? lost(dir) : { level: 'ok', what: 'The store is not made yet.' }
  return findingOf(condition, storeFile(dir))
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
        mend: 'Install that version or a later one, or choose another folder with --data.',
      }
    case 'unreadable':
      return {
        level: 'error',
        what: `The store "${file}" cannot be looked at: ${condition.reason}.`,
        mend: 'See that whoever runs Quartermaster may read and write it and its folder, then look again.',
      }
    case 'damaged':
      return { level: 'error', what: `The store "${file}" is damaged: ${condition.reason}.`, mend: MEND_DAMAGE }
  }
}

const MEND_DAMAGE =
  'Stop `quartermaster up`, then put store.db back from a backup. Without one, move store.db, store.db-wal and store.db-shm ' +
  'away; the next start makes a new store, and all tokens, operations and the audit are gone.'

function lost(dir: string): Finding {
  return {
    level: 'warning',
    what: `The store "${storeFile(dir)}" is missing or empty, although this folder has been used.`,
    mend:
      'Put store.db back from a backup before the next start. Otherwise that makes a new store, and all tokens, operations ' +
      'and the audit are gone.',
  }
}
