import type { EffectKinds, SqlConnections } from '../../core/operations/index.ts'
import { fileDeleted } from './file-deleted.ts'
import { createFileReader } from './file-reader.ts'
import { fileWritten } from './file-written.ts'
import { httpState } from './http-state.ts'
import { lineAppended } from './line-appended.ts'
import { rowPresent } from './row-present.ts'
import { createWalls, type WallsOptions } from './walls.ts'

export interface EffectKindsOptions extends WallsOptions {
  /** The databases that the configuration names. */
  readonly connections: SqlConnections
}

/** The ready-made kinds of effects, by name. */
export function createEffectKinds({ connections, ...folders }: EffectKindsOptions): EffectKinds {
  const walls = createWalls(folders)
  const read = createFileReader(walls)
  const kinds = [
    fileWritten(walls, read),
    lineAppended(walls, read),
    fileDeleted(walls),
    rowPresent(connections),
    httpState(),
  ]
  return new Map(kinds.map(kind => [kind.kind, kind]))
}
