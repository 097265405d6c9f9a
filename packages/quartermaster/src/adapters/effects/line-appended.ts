import { z } from 'zod'
import { createTemplatedKind, type EffectKind } from '../../core/operations/index.ts'
import { FILE_TEMPLATES, fileObjection, filePlace } from './fields.ts'
import { MOST_BYTES, type ReadFile } from './file-reader.ts'
import { countLines } from './lines.ts'
import type { Walls } from './walls.ts'

const Fields = z.strictObject({ ...filePlace, line: z.string().min(1) })
type Fields = z.infer<typeof Fields>

/** A file has one more of a line than before. */
export function lineAppended(walls: Walls, read: ReadFile): EffectKind {
  return createTemplatedKind<Fields>({
    kind: 'lineAppended',
    schema: Fields,
    templates: { ...FILE_TEMPLATES, line: {} },
    checkFilled: fields =>
      /[\r\n]/.test(fields.line) ? 'its "line" is more than one line.' : fileObjection(walls, fields),
    look: ({ line, ...place }, { signal }) =>
      read(place, signal, async file => {
        const counter = countLines(line)
        for await (const chunk of file.chunks(MOST_BYTES)) counter.add(chunk)
        const count = counter.end()
        if (count === 0) return { seen: 'absent', reason: 'The file does not have the line.' }
        return { seen: 'there', mark: String(count), count }
      }),
  })
}
