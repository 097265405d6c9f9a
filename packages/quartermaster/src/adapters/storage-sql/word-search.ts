import { createHash } from 'node:crypto'
import type { WordLimit, WordScope, WordSearch } from '../../core/store/index.ts'
import type { DialectName, SqlExecutor, SqlValue } from './statements.ts'

/** Finds memories by their words, with the index that each database has for it. */
export function createWordSearch(dialect: DialectName, executor: Pick<SqlExecutor, 'read'>): WordSearch {
  const newest = NEWEST[dialect]
  return {
    async count(word, { most, ...scope }) {
      const parameters: SqlValue[] = []
      const sql = `select count(*) from (${newest({ word, most }, scope, parameters)}) as t`
      const [row] = await executor.read({ sql, parameters })
      return Number(row?.[0])
    },
    // Each list as one text: to hand over row by row takes longer than to find them.
    async newest(words, scope) {
      if (words.length === 0) return []
      const parameters: SqlValue[] = []
      const parts = words.map(
        (wanted, i) => `select ${i}, ${JOINED[dialect]} from (${newest(wanted, scope, parameters)}) as t`,
      )
      const lists = words.map((): readonly number[] => [])
      for (const [i, slots] of await executor.read({ sql: parts.join(' union all '), parameters }))
        if (typeof slots === 'string') lists[Number(i)] = slots.split(',').map(Number)
      return lists
    },
  }
}

const JOINED: Readonly<Record<DialectName, string>> = {
  sqlite: 'group_concat("slot")',
  postgres: `string_agg("slot"::text, ',' order by "slot" desc)`,
}

type Newest = (wanted: WordLimit, scope: WordScope, parameters: SqlValue[]) => string

/** The slots of the newest rows that have a word. The index prefixes it with its scope, so rows of other scopes are not read. */
const NEWEST: Readonly<Record<DialectName, Newest>> = {
  sqlite({ word, most }, { scopes, upTo, above }, parameters) {
    const match = place('sqlite', parameters, scopes.map(scope => quoted(scope + word)).join(' OR '))
    const highest = place('sqlite', parameters, upTo)
    const lowest = above === undefined ? '' : ` and "rowid" > ${place('sqlite', parameters, above)}`
    return (
      `select * from (select "rowid" as "slot" from "memory_words" where "memory_words" match ${match} ` +
      `and "rowid" <= ${highest}${lowest} order by 1 desc limit ${place('sqlite', parameters, most)})`
    )
  },
  postgres({ word, most }, { scopes, upTo, above }, parameters) {
    const highest = `${place('postgres', parameters, upTo)}::bigint`
    const lowest = above === undefined ? '' : ` and "slot" > ${place('postgres', parameters, above)}::bigint`
    const limit = `order by "slot" desc limit ${place('postgres', parameters, most)}::bigint`
    // Each scope on its own, so that no more rows than wanted are read of each.
    const parts = scopes.map(scope => {
      const key = place('postgres', parameters, wordKey(scope, word))
      return `(select "slot" from "memory_words" where "word" = ${key}::bigint and "slot" <= ${highest}${lowest} ${limit})`
    })
    return `select "slot" from (${parts.join(' union all ')}) as s ${limit}`
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

/**
 * A word of a scope as a number of 64 bits, which an index holds better than their names. PostgreSQL makes the same one of the words
 * of a row. A collision only costs a read: the scope and words of a found row are checked again.
 */
function wordKey(scope: string, word: string): string {
  return createHash('sha256')
    .update(scope + word)
    .digest()
    .readBigInt64BE(0)
    .toString()
}
