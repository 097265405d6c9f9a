import type { SqlValue, Statement } from './statement.ts'

/** A statement that is to be: its shape, what belongs in its places, and how its SQL is written. */
export interface Draft {
  readonly shape: string
  readonly parameters: readonly SqlValue[]
  write(): { readonly sql: string; readonly parameters: readonly unknown[] }
}

/** Makes statements of drafts. Writing SQL costs ten times as much as running it, so each shape is written once. */
export type StatementCache = (draft: Draft) => Statement

/** Shapes come from code, not from data, so there are some dozens. More means that a list grew; the oldest go. */
const MOST = 500

export function createStatementCache(): StatementCache {
  const known = new Map<string, string>()
  return draft => {
    const sql = known.get(draft.shape) ?? written(draft)
    if (!known.has(draft.shape)) remember(known, draft.shape, sql)
    return { sql, parameters: draft.parameters }
  }
}

/** The parameters are our own list, so the first time it is proved that they stand where the SQL expects them. */
function written(draft: Draft): string {
  const { sql, parameters } = draft.write()
  const isSame = parameters.length === draft.parameters.length && parameters.every((p, i) => p === draft.parameters[i])
  if (!isSame) throw new Error(`The parameters of "${draft.shape}" are not in the order of its SQL.`)
  return sql
}

function remember(known: Map<string, string>, shape: string, sql: string): void {
  const [oldest] = known.keys()
  if (known.size >= MOST && oldest !== undefined) known.delete(oldest)
  known.set(shape, sql)
}
