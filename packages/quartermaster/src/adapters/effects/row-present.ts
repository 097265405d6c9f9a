import { createHash } from 'node:crypto'
import { z } from 'zod'
import {
  createTemplatedKind,
  type EffectKind,
  type SqlConnections,
  type SqlValues,
} from '../../core/operations/index.ts'
import { LONGEST_TEXT } from './fields.ts'

/** More than a few rows are no witness of one call. */
const MOST_ROWS = 100
const MOST_PARAMETERS = 50

const Fields = z.strictObject({
  connection: z.string().min(1),
  sql: z.string().min(1).max(10_000),
  parameters: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .max(MOST_PARAMETERS)
    .default([]),
})
type Fields = z.infer<typeof Fields>

/** A query of a named database finds rows that it did not find before. */
export function rowPresent(connections: SqlConnections): EffectKind {
  return createTemplatedKind<Fields>({
    kind: 'rowPresent',
    schema: Fields,
    templates: { parameters: { keepsType: true } },
    check: statementProblems,
    checkFilled: ({ parameters }) =>
      parameters.some(value => String(value).length > LONGEST_TEXT)
        ? `one of its "parameters" is longer than ${LONGEST_TEXT} characters.`
        : undefined,
    async look({ connection, sql, parameters }, { signal }) {
      const database = connections.get(connection)
      if (!database) return { seen: 'unclear', reason: `"connections" of the configuration has no "${connection}".` }
      const rows = await database.query(bounded(sql), parameters, { signal })
      if (rows.length > MOST_ROWS)
        return { seen: 'unclear', reason: `It finds more than ${MOST_ROWS} rows; ask for fewer.` }
      if (rows.length === 0) return { seen: 'absent', reason: 'There is no such row.' }
      return { seen: 'there', mark: digestOf(rows), count: rows.length }
    },
  })
}

/** Texts, quoted names and comments, in which a question mark is none. */
const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?\*\//g

function statementProblems({ sql, parameters }: Fields): string[] {
  const bare = sql.replace(QUOTED, ' ')
  const gaps = bare.match(/\?/g)?.length ?? 0
  const problems = []
  if (!/^\s*(?:select|with)\b/i.test(bare)) problems.push('sql: must be one SELECT.')
  // This is the kind that may never end, and if this process is killed meanwhile nobody ends it.
  if (/\brecursive\b/i.test(bare)) problems.push('sql: must not be recursive.')
  if (bare.includes(';')) problems.push('sql: must be one statement, without ";".')
  if (/\{(?:input|config|operationId)\b/.test(sql))
    problems.push('sql: takes values by "?" and "parameters", never in its text.')
  else if (gaps !== parameters.length)
    problems.push(`parameters: are ${parameters.length}, and sql has ${gaps} question marks.`)
  if (/\?\d|[:@$][A-Za-z]/.test(bare)) problems.push('sql: takes parameters by plain "?" alone.')
  return problems
}

/** The line break ends a comment that would swallow the rest. */
function bounded(sql: string): string {
  return `select * from (${sql}\n) as "found" limit ${MOST_ROWS + 1}`
}

function digestOf(rows: readonly SqlValues[]): string {
  const text = JSON.stringify(rows, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
    return typeof value === 'bigint' ? String(value) : value
  })
  return createHash('sha256').update(text).digest('hex')
}
