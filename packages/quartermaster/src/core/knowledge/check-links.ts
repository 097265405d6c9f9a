import type { Generation, Knowledge } from '../catalogue/index.ts'
import type { Fault } from './fault.ts'
import { withIncludes } from './includes.ts'
import { anchorOf, headingsOf, type LocalLink, localLinks } from './markdown.ts'

/** The files of the project, as far as links lead to them. */
export interface KnowledgeFiles {
  /** Whether there is a file or folder at this path, which begins at the project's folder. */
  exists(path: string): Promise<boolean>
}

/** Links of units that lead nowhere. */
export async function checkLinks(generation: Generation, files: KnowledgeFiles): Promise<Fault[]> {
  const units = [...generation.knowledge.values()]
  const byFile = new Map(units.map(unit => [unit.unit, unit]))
  const anchors = anchorsIn(generation)
  const checks = units.flatMap(unit =>
    localLinks(unit.body).map(async (link): Promise<Fault[]> => {
      const message = await faultOf(link, { unit, byFile, anchors, files })
      return message === undefined ? [] : [{ severity: 'warning', unit, bodyLine: link.line, message }]
    }),
  )
  return (await Promise.all(checks)).flat()
}

interface Linking {
  readonly unit: Knowledge
  readonly byFile: ReadonlyMap<string, Knowledge>
  anchors(unit: Knowledge): ReadonlySet<string>
  readonly files: KnowledgeFiles
}

async function faultOf({ target, anchor }: LocalLink, linking: Linking): Promise<string | undefined> {
  const { unit, byFile, anchors, files } = linking
  const path = target === '' ? unit.unit : resolved(unit.unit, target)
  if (path === undefined) return `The link "${target}" leads out of the project.`
  const linked = target === '' ? unit : byFile.get(path)
  if (linked) {
    if (anchor === undefined || anchor === '' || anchors(linked).has(anchor)) return undefined
    return `The link "${target}#${anchor}" leads to no heading of "${linked.path}".`
  }
  // Nobody here can look at the files beside those that came with the product.
  if (unit.isBuiltin) return undefined
  return (await files.exists(path)) ? undefined : `The link "${target}" leads to no file.`
}

/** What stands in a text counts wherever it was written. */
function anchorsIn({ knowledge }: Generation): Linking['anchors'] {
  const known = new Map<Knowledge, ReadonlySet<string>>()
  return unit => {
    const before = known.get(unit)
    if (before) return before
    const { text } = withIncludes(unit, path => knowledge.get(path))
    const found = new Set(headingsOf(text).map(anchorOf))
    known.set(unit, found)
    return found
  }
}

/** A path beside a file, or nothing where it would lead above all. One that begins with `/` counts from the top. */
function resolved(file: string, target: string): string | undefined {
  const names = target.startsWith('/') ? [] : file.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '' || name === '.') continue
    if (name !== '..') names.push(name)
    else if (names.pop() === undefined) return undefined
  }
  return names.join('/')
}
