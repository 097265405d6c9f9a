import { readFile } from 'node:fs/promises'
import type { Source, SourceUnit } from '../../core/catalogue/index.ts'

/**
 * Knowledge as a source has read it, for one file: to parse a few pages anew takes longer than all the rest of a start.
 * Throws what is wrong with them, because whoever packs them can fix them.
 */
export async function packKnowledge(source: Source): Promise<string> {
  const units = await source.load(new AbortController().signal)
  const broken = units.flatMap(unit => ('broken' in unit ? unit.broken : []))
  if (broken.length > 0) throw new Error(broken.map(({ where, message }) => `${where}: ${message}`).join('\n'))
  return JSON.stringify(units)
}

/** A source over what was packed. It does not change while it runs. */
export function createPackedSource({ file, ...place }: Pick<Source, 'id' | 'kind'> & { readonly file: URL }): Source {
  let units: readonly SourceUnit[] | undefined
  return {
    ...place,
    async load() {
      units ??= JSON.parse(await readFile(file, 'utf8')) as SourceUnit[]
      return units
    },
  }
}
