// @ts-check

const BATCH = 500
const DAY_MS = 86_400_000

/** @type {typeof import('../../packages/quartermaster/src/core/store/index.ts')} */
const { insert } = await import(
  new URL('../../packages/quartermaster/dist/modules/core/store/index.js', import.meta.url).href
)

/**
 * Puts so many operations on record that are over and told, as a month of calls leaves them.
 * @param {import('./house.mjs').Storage} storage
 * @param {number} count
 */
export async function fillWithEnded(storage, count) {
  const { store } = await storage.open()
  for (let i = 0; i < count; i += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - i) }, (_, k) => endedOperation(i + k))
    await store.commit(rows.map(row => insert('operations', row)))
  }
}

/**
 * @param {number} i
 * @returns {import('../../packages/quartermaster/src/contracts/index.ts').NewRow<'operations'>}
 */
function endedOperation(i) {
  const at = Date.now() - DAY_MS + i
  return {
    id: `op_${String(i).padStart(22, '0')}`,
    workspace: 'clerk',
    organisation: 'default',
    callerKind: 'agent',
    callerName: 'clerk',
    tool: 'post',
    definitionHash: 'c0ffee00'.repeat(8),
    mutates: true,
    retry: 'replay',
    digest: 'c0ffee00'.repeat(8),
    state: 'succeeded',
    outcome: 'succeeded',
    attempts: 1,
    createdAt: at,
    updatedAt: at,
    startedAt: at,
    endedAt: at,
    announcedAt: at,
    keepUntil: at + 30 * DAY_MS,
  }
}
