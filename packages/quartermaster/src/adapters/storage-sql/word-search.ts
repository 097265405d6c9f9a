import type { WantedWord, WordScope, WordSearch } from '../../core/store/index.ts'
import type { DialectName } from './dialect.ts'
import type { SqlExecutor, SqlValue } from './statement.ts'

/** Finds memories by their words, with the index that each database has for it. */
export function createWordSearch(dialect: DialectName, executor: Pick<SqlExecutor, 'read'>): WordSearch {
  const having = HAVING[dialect]
  return {
    async count(word, { most, ...scope }) {
      const parameters: SqlValue[] = []
      const sql = `select count(*) from (${having(word, scope, parameters)} limit ${place(dialect, parameters, most)}) as t`
      const [row] = await executor.read({ sql, parameters })
      return Number(row?.[0])
    },
    async find(words, { limit, ...scope }) {
      if (words.length === 0) return []
      const parameters: SqlValue[] = []
      const parts = words.map(wanted => weighed(dialect, wanted, scope, parameters))
      const sum = `select "slot" from (${parts.join(' union all ')}) as w group by "slot" order by sum("weight") desc, "slot" desc`
      const sql = `${sum} limit ${place(dialect, parameters, limit)}`
      return (await executor.read({ sql, parameters })).map(([slot]) => Number(slot))
    },
  }
}

/** The newest rows that have the word, each with what that says for it. */
function weighed(dialect: DialectName, { word, weight, most }: WantedWord, scope: WordScope, parameters: SqlValue[]) {
  const worth = place(dialect, parameters, weight)
  const cast = dialect === 'postgres' ? '::double precision' : ''
  const rows = HAVING[dialect](word, scope, parameters)
  return `select * from (select "slot", ${worth}${cast} as "weight" from (${rows} order by 1 desc limit ${place(dialect, parameters, most)}) as r) as p`
}

type Having = (word: string, scope: WordScope, parameters: SqlValue[]) => string

/** The slots of all rows that have a word. In the index each stands behind its shelf, so those of others are not met. */
const HAVING: Readonly<Record<DialectName, Having>> = {
  sqlite(word, { shelves, upTo, above }, parameters) {
    const match = place('sqlite', parameters, shelves.map(shelf => quoted(shelf + word)).join(' OR '))
    const highest = place('sqlite', parameters, upTo)
    const lowest = above === undefined ? '' : ` and "rowid" > ${place('sqlite', parameters, above)}`
    return `select "rowid" as "slot" from "memory_words" where "memory_words" match ${match} and "rowid" <= ${highest}${lowest}`
  },
  postgres(word, { shelves, upTo, above }, parameters) {
    const wanted = place('postgres', parameters, shelves.map(shelf => shelf + word).join(' '))
    const where = [
      `"memory_words" && string_to_array(${wanted}::text, ' ')`,
      `"slot" <= ${place('postgres', parameters, upTo)}::bigint`,
      ...(above === undefined ? [] : [`"slot" > ${place('postgres', parameters, above)}::bigint`]),
    ]
    return `select "slot" from "memories" where ${where.join(' and ')}`
  },
}

/** In quotes everything is a word, and what could end a quote is no part of one. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""')}"`
}

/** Puts a value in and answers what stands for it in the SQL. */
function place(dialect: DialectName, parameters: SqlValue[], value: SqlValue): string {
  parameters.push(value)
  return dialect === 'postgres' ? `$${parameters.length}` : '?'
}
