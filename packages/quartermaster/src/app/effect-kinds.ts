import { resolve } from 'node:path'
import { createEffectKinds } from '../adapters/effects/index.ts'
import type { SqliteReaders } from '../adapters/storage-sqlite/index.ts'
import type { EffectKinds, SqlConnection } from '../core/operations/index.ts'
import type { Project } from './project.ts'

/** The ready-made kinds of effects, looking at what is around a project. */
export function effectKindsOf(project: Pick<Project, 'projectDir' | 'dataDir' | 'connection'>): EffectKinds {
  const { projectDir, dataDir } = project
  let loading: Promise<SqliteReaders> | undefined
  const sqliteFile = (file: string): SqlConnection => ({
    async query(...question) {
      const readers = await (loading ??= loadReaders())
      return readers.open(file).query(...question)
    },
  })
  return createEffectKinds({
    projectDir,
    dataDir,
    connections: {
      get(name) {
        const config = project.connection(name)
        return config && sqliteFile(resolve(projectDir, config.sqlite))
      },
    },
  })
}

/** Loaded when first needed: most commands have no use for a database. */
async function loadReaders(): Promise<SqliteReaders> {
  const { createSqliteReaders } = await import('../adapters/storage-sqlite/index.ts')
  return createSqliteReaders()
}
