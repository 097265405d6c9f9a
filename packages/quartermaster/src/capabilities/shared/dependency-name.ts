import { createHash } from 'node:crypto'
import { Name } from '../../contracts/index.ts'

/** What is shown of a name that no dependency can have; its end says most. */
const SHOWN = 40

/** What a dependency on something of this name is called. Two things are never called the same. */
export function dependencyName(kind: 'program' | 'secret', name: string): string {
  const plain = `${kind}-${name}`
  if (Name.safeParse(plain).success) return plain
  const shown = name
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(-SHOWN)
    .replace(/^[_-]+/, '')
  return `${kind}-${shown}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
