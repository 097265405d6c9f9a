import type { Generation } from '../catalogue/index.ts'
import { type Clock, inTurns, type Steps } from '../kernel/index.ts'
import type { Fault, WrittenText } from './fault.ts'
import { anchorsOf, plainAnchor } from './headings.ts'
import { withIncludes } from './includes.ts'
import { type LocalLink, localLinks } from './local-links.ts'

/** The files of the project, as far as links lead to them. */
export interface KnowledgeFiles {
  /** Whether there is a file or folder at this path, which begins at the project's folder. */
  exists(path: string): Promise<boolean>
}

export interface LinkDeps {
  readonly texts: readonly WrittenText[]
  readonly files: KnowledgeFiles
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/** Links that lead nowhere. */
export async function checkLinks(generation: Generation, { texts, files, clock }: LinkDeps): Promise<Fault[]> {
  const { faults, toFiles } = await inTurns(followed(generation, texts), clock)
  const absent = new Set<string>()
  for (const path of new Set(toFiles.map(({ path: one }) => one))) if (!(await files.exists(path))) absent.add(path)
  const missing = toFiles.filter(({ path }) => absent.has(path)).map(({ fault }) => fault)
  return [...faults, ...missing]
}

interface Followed {
  readonly faults: Fault[]
  /** Those that lead to no text that was read: whether there is such a file has to be looked at. */
  readonly toFiles: { readonly path: string; readonly fault: Fault }[]
}

function* followed(generation: Generation, texts: readonly WrittenText[]): Steps<Followed> {
  const found: Followed = { faults: [], toFiles: [] }
  const byFile = new Map(texts.map(text => [text.unit.normalize('NFC'), text]))
  const anchors = anchorsIn(generation)
  for (const text of texts) {
    for (const link of localLinks(text.body)) {
      const { target } = link
      const path = target === '' ? text.unit : resolved(text.unit, target)
      const linked = target === '' ? text : path && byFile.get(path.normalize('NFC'))
      const fault = (message: string): Fault => ({ severity: 'warning', text, bodyLine: link.line, message })
      if (path === undefined) found.faults.push(fault(`The link "${target}" leads out of the project.`))
      else if (linked) found.faults.push(...headingFault(link, linked, anchors).map(fault))
      // Nobody here can look at the files beside those that came with the product.
      else if (!text.isBuiltin) found.toFiles.push({ path, fault: fault(`The link "${target}" leads to no file.`) })
    }
    yield
  }
  return found
}

function headingFault({ target, anchor = '' }: LocalLink, linked: WrittenText, anchors: Anchors): string[] {
  if (anchor === '' || ALWAYS.test(anchor) || anchors(linked).has(plainAnchor(anchor))) return []
  return [`The link "${target}#${anchor}" leads to no heading of "${linked.path}".`]
}

/** The beginning of a page, and lines of its file. */
const ALWAYS = /^(?:top|L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?)$/i

type Anchors = (text: WrittenText) => ReadonlySet<string>

/** What stands in a text counts wherever it was written. */
function anchorsIn({ knowledge }: Generation): Anchors {
  const known = new Map<WrittenText, ReadonlySet<string>>()
  return text => {
    const before = known.get(text)
    if (before) return before
    const found = anchorsOf(text.of === 'unit' ? withIncludes(text, path => knowledge.get(path)).text : text.body)
    known.set(text, found)
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
