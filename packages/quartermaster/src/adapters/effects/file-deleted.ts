import { z } from 'zod'
import { createTemplatedKind, type EffectKind } from '../../core/operations/index.ts'
import { FILE_TEMPLATES, fileObjection, filePlace } from './fields.ts'
import { sightingOf, type Walls } from './walls.ts'

const Fields = z.strictObject(filePlace)
type Fields = z.infer<typeof Fields>

/** A file that was there is gone. */
export function fileDeleted(walls: Walls): EffectKind {
  return createTemplatedKind<Fields>({
    kind: 'fileDeleted',
    witness: 'absence',
    schema: Fields,
    templates: FILE_TEMPLATES,
    checkFilled: fields => fileObjection(walls, fields),
    async look(place) {
      const located = await walls.locate(place)
      if (located.at === 'unclear') return sightingOf(located)
      return { seen: located.at }
    },
  })
}
