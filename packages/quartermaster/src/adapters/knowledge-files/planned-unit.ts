import { createHash } from 'node:crypto'
import type { SourceUnit } from '../../core/catalogue/index.ts'
import { partFrontMatter } from './front-matter.ts'
import { MOST_BYTES } from './knowledge-source.ts'
import type { UnitFile } from './write-units.ts'

/** A file that is to be, as it would be read; its id is its path. */
export function plannedUnit({ path, text }: UnitFile): SourceUnit {
  const parted = partFrontMatter(text)
  const wrong = Buffer.byteLength(text) > MOST_BYTES ? `It would have more than ${MOST_BYTES} bytes.` : undefined
  if (wrong !== undefined || 'wrong' in parted) {
    const message = wrong ?? ('wrong' in parted ? parted.wrong : '')
    return { id: path, broken: [{ severity: 'error', code: 'DEFINITION_INVALID', where: path, message }] }
  }
  const written = [{ path: path.replace(/\.md$/, ''), ...parted }]
  const definitions = { capabilities: [], dependencies: [], injections: [], written }
  return { id: path, hash: createHash('sha256').update(text).digest('hex'), definitions }
}
