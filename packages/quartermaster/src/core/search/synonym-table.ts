import { SYNONYMS } from './synonyms.ts'
import { toTerm } from './terms.ts'

/** The terms that can stand for a term. */
export function createSynonymTable(): ReadonlyMap<string, readonly string[]> {
  const table = new Map<string, string[]>()
  for (const group of SYNONYMS.map(words => words.map(toTerm)))
    for (const term of group) table.set(term, [...(table.get(term) ?? []), ...group.filter(other => other !== term)])
  return table
}
