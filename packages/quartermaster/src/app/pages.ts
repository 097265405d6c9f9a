import { fileURLToPath } from 'node:url'
import { createKnowledgeSource, createPackedSource } from '../adapters/knowledge-files/index.ts'
import type { Source } from '../core/catalogue/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { PAGES } from './package-entries.ts'

const PLACE = { id: 'pages', kind: 'builtin' } as const

/** What comes written down with the product: the build has it packed, the sources have the files. */
export function createPagesSource(log: Log): Source {
  if ('file' in PAGES) return createPackedSource({ ...PLACE, file: PAGES.file })
  return createKnowledgeSource({ ...PLACE, dir: fileURLToPath(PAGES.dir), prefix: PAGES_PREFIX, watch: false, log })
}

/** What is built in and what is written about it, as one: pages are read sooner than modules, and alone they are of no use to anybody. */
export function withPages(builtin: Source, log: Log): Source {
  const sources = [builtin, createPagesSource(log)]
  return {
    id: builtin.id,
    kind: builtin.kind,
    load: async signal => (await Promise.all(sources.map(source => source.load(signal)))).flat(),
  }
}

/** Before each of their paths, so that no page of a project is taken for one of ours. */
export const PAGES_PREFIX = 'quartermaster/'
