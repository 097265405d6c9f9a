// @ts-check
// The built store in a folder of its own.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @typedef {import('../../packages/quartermaster/src/adapters/storage-sqlite/index.ts').SqliteStore} SqliteStore */
/** @typedef {import('../../packages/quartermaster/src/contracts/index.ts').NewRow<'audit'>} AuditLine */

/** @param {string} file */
const built = file => import(new URL(`../../packages/quartermaster/dist/modules/${file}`, import.meta.url).href)

/** @type {typeof import('../../packages/quartermaster/src/adapters/storage-sqlite/index.ts')} */
const { openSqliteStore } = await built('adapters/storage-sqlite/index.js')
/** @type {typeof import('../../packages/quartermaster/src/core/store/index.ts')} */
export const { insert, update } = await built('core/store/index.js')

const silent = () => {}
const log = { debug: silent, info: silent, warn: silent, error: silent }

/** @param {string} dir */
export const open = dir => openSqliteStore({ dir, log })

/**
 * Does the work in a folder that is gone afterwards.
 * @template T
 * @param {(dir: string) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function inFolder(work) {
  const dir = await mkdtemp(join(tmpdir(), 'bench-store-'))
  try {
    return await work(dir)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/**
 * A line of the audit as a call leaves it: about 430 bytes.
 * @param {number} i
 * @returns {AuditLine}
 */
export function auditLine(i) {
  return {
    id: `aud_${String(i).padStart(22, '0')}`,
    workspace: 'researcher',
    organisation: 'default',
    callerKind: 'agent',
    callerName: 'researcher',
    at: 1_700_000_000_000 + i,
    operationId: `op_${String(i).padStart(22, '0')}`,
    tool: 'write_file',
    digest: 'c0ffee00'.repeat(8),
    decision: 'allowed',
    outcome: 'succeeded',
    consent: { operations: ['files.write'], by: 'file' },
    mutates: true,
    durationMs: 12.5,
  }
}
