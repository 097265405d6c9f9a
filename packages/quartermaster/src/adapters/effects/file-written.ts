import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Sighting } from '../../contracts/index.ts'
import { createTemplatedKind, type EffectKind } from '../../core/operations/index.ts'
import { FILE_TEMPLATES, fileObjection, filePlace } from './fields.ts'
import { MOST_BYTES, type OpenFile, type ReadFile } from './file-reader.ts'
import { countOccurrences } from './occurrences.ts'
import type { Walls } from './walls.ts'

const Fields = z.strictObject({ ...filePlace, contains: z.string().min(1).optional(), sha256: z.string().optional() })
type Fields = z.infer<typeof Fields>

const SHA256 = /^[0-9a-f]{64}$/i

/** A file was written: it has a text, has a hash, or is another one than before. */
export function fileWritten(walls: Walls, read: ReadFile): EffectKind {
  return createTemplatedKind<Fields>({
    kind: 'fileWritten',
    schema: Fields,
    templates: { ...FILE_TEMPLATES, contains: {}, sha256: {} },
    check: ({ contains, sha256 }) =>
      contains !== undefined && sha256 !== undefined ? ['"contains" and "sha256" are two witnesses; give one.'] : [],
    checkFilled({ sha256, ...texts }) {
      if (sha256 !== undefined && !SHA256.test(sha256)) return 'its "sha256" is no SHA-256 in hexadecimal.'
      return fileObjection(walls, texts)
    },
    look: ({ contains, sha256, ...place }, { signal }) =>
      read(place, signal, file => (contains === undefined ? lookAtHash(file, sha256) : lookForText(file, contains))),
  })
}

/** A text that was there before proves nothing, so its occurrences are counted. */
async function lookForText(file: OpenFile, contains: string): Promise<Sighting> {
  const counter = countOccurrences(contains)
  for await (const chunk of file.chunks(MOST_BYTES)) counter.add(chunk)
  const { count } = counter
  if (count === 0) return { seen: 'absent', reason: 'The file does not have the text.' }
  return { seen: 'there', mark: String(count), count }
}

async function lookAtHash(file: OpenFile, wanted: string | undefined): Promise<Sighting> {
  const hash = createHash('sha256')
  for await (const chunk of file.chunks()) hash.update(chunk)
  const mark = hash.digest('hex')
  if (wanted !== undefined && mark !== wanted.toLowerCase())
    return { seen: 'absent', reason: 'The file has another SHA-256.' }
  return { seen: 'there', mark }
}
