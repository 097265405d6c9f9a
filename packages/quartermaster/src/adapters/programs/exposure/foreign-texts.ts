import { readdir } from 'node:fs/promises'
import { isAbsolute, relative, sep } from 'node:path'
import type { ForeignText } from '../../../core/catalogue/index.ts'
import { type Clock, inTurns, type Steps } from '../../../core/kernel/index.ts'
import { type Relation, relationTo } from './containment.ts'
import { piecesIn } from './foreign-pieces.ts'
import { type Standpoint, seenFrom } from './paths-in.ts'

/** What texts of a caller lead to: the data folder, or too many places to check. */
export type Leading =
  | { readonly kind: 'elsewhere' }
  | { readonly kind: 'dataFolder'; readonly parameter: string; readonly piece: string }
  | { readonly kind: 'tooMany'; readonly parameter: string }

/** Each takes a look at the disk: so many take about a second. */
export const MOST_PATHS = 20_000
const AT_ONCE = 16
/** A piece that is longer is no path, whatever a program leaves out of it. */
const LONGEST_PIECE = 65_536

/**
 * Whether texts that a program gets from a caller have a path in them that lies in the data folder, or are one that holds
 * it. In the middle of a text a dot, a slash and the bare name of the folder are words.
 */
export async function whereForeignLeads(
  texts: readonly ForeignText[],
  { dataDir, clock, ...at }: Standpoint & { readonly dataDir: string; readonly clock: Pick<Clock, 'now' | 'breathe'> },
): Promise<Leading> {
  const grounds = await Promise.all([at.base, ROOT].map(groundOf))
  const { looks, beyond } = await inTurns(looksAt(texts, { at, grounds }), clock)
  if (beyond !== undefined) return { kind: 'tooMany', parameter: beyond }
  const all = [...looks]
  for (let i = 0; i < all.length; i += AT_ONCE) {
    const found = await Promise.all(
      all.slice(i, i + AT_ONCE).map(async ([path, look]) => ({ look, relation: await relationTo(path, dataDir) })),
    )
    const hit = found.find(({ look, relation }) => relation !== undefined && look.weight >= REFUSED_FROM[relation])
    if (hit) return { kind: 'dataFolder', parameter: hit.look.parameter, piece: hit.look.piece }
  }
  return { kind: 'elsewhere' }
}

const ROOT = '/'

/** How much a piece means: a name in a text, a path in a text, or all that there is. */
type Weight = 0 | 1 | 2
const REFUSED_FROM: Readonly<Record<Relation, Weight>> = { in: 0, same: 1, holds: 2 }

interface PathSearch {
  readonly parameter: string
  readonly piece: string
  readonly weight: Weight
}

interface Looks {
  readonly looks: ReadonlyMap<string, PathSearch>
  /** The parameter with more than is looked at. */
  readonly beyond?: string
}

/** A folder, and what it has: a path that begins with something else leads nowhere, and needs no look at the disk. */
interface Ground {
  readonly folder: string
  /** Without case. */
  readonly entries?: ReadonlySet<string> | undefined
}

async function groundOf(folder: string): Promise<Ground> {
  const names = await readdir(folder).catch(() => undefined)
  return { folder, entries: names && new Set(names.map(folded)) }
}

// A disk may not tell them apart.
const folded = (name: string) => name.normalize('NFC').toLowerCase()

interface Grounds {
  readonly at: Standpoint
  readonly grounds: readonly Ground[]
}

function* looksAt(texts: readonly ForeignText[], { at, grounds }: Grounds): Steps<Looks> {
  const looks = new Map<string, PathSearch>()
  const seen = [new Set<string>(), new Set<string>(), new Set<string>()] as const
  for (const foreign of texts)
    for (const { text: piece, isWhole } of piecesIn(foreign)) {
      yield
      const weight: Weight = isWhole ? 2 : /[/\\]./.test(piece) ? 1 : 0
      if (piece === '' || piece.length > LONGEST_PIECE || seen[weight].has(piece)) continue
      seen[weight].add(piece)
      if (!mayBeThere(piece, at, grounds)) continue
      for (const path of seenFrom(piece, at)) {
        if (!isThere(path, grounds) || (looks.get(path)?.weight ?? -1) >= weight) continue
        looks.set(path, { parameter: foreign.parameter, piece, weight })
      }
      if (looks.size > MOST_PATHS) return { looks, beyond: foreign.parameter }
    }
  return { looks }
}

/** Most words of a text are no file of the folder, and need no more than this. */
function mayBeThere(piece: string, { base }: Standpoint, grounds: readonly Ground[]): boolean {
  return /[/\\~$]|^\.\.?$/.test(piece) || isThere(`${base}${sep}${piece}`, grounds)
}

function isThere(path: string, grounds: readonly Ground[]): boolean {
  for (const { folder, entries } of grounds) {
    if (!entries) continue
    const way = path.startsWith(`${folder}${sep}`) ? path.slice(folder.length + 1) : relative(folder, path)
    const [first = ''] = way.split(/[\\/]/, 1)
    if (first === '' || first === '.' || first === '..' || isAbsolute(way)) continue
    if (!entries.has(folded(first))) return false
  }
  return true
}
