import { findCycles, type Graph } from './cycles.ts'
import { type Imports, importsOf } from './imports.ts'
import { objectionTo, placeOf, targetOf } from './rules.ts'
import { isForTests, type Sources } from './sources.ts'

/** The only folders that may load a module whose name they learn when they run. */
const COMPUTED_IMPORTS = ['adapters/modules/']

/** Everything in these sources that breaks the layers, a sentence each. */
export function findViolations(sources: Sources): string[] {
  const product = [...sources].filter(([path]) => !isForTests(path))
  const imports = new Map(product.map(([path, text]) => [path, importsOf(path, text)]))
  const paths = [...imports.keys()]
  return [
    ...paths
      .filter(path => !placeOf(path))
      .map(path => `${path} stands in no layer: see CONTRIBUTING.md for the folders`),
    ...missingFaces(paths),
    ...[...imports].flatMap(([path, found]) => violationsIn(path, found, sources)),
    ...cyclesIn(fileGraph(imports), 'files import each other in a circle'),
    ...cyclesIn(graphOf(imports, contextOf), 'contexts import each other in a circle'),
    ...cyclesIn(graphOf(imports, folderOf), 'folders import each other in a circle'),
  ]
}

function missingFaces(paths: readonly string[]): string[] {
  const units = new Set(paths.map(path => placeOf(path)?.unit).filter(unit => /^(core|adapters)\//.test(unit ?? '')))
  return [...units]
    .filter(unit => !paths.includes(`${unit}/index.ts`))
    .map(unit => `${unit} has no index.ts: it is its public face`)
}

function violationsIn(path: string, { specifiers, computed, waivers, errors }: Imports, sources: Sources): string[] {
  const violations = errors.map(error => `${path} cannot be parsed: ${error}`)
  violations.push(...waivers.map(waiver => `${path} says ${waiver}: no comment switches a check off`))
  if (computed && !COMPUTED_IMPORTS.some(folder => path.startsWith(folder))) {
    violations.push(`${path} imports a computed name: only ${COMPUTED_IMPORTS.join(', ')} may`)
  }
  for (const specifier of specifiers) {
    const target = targetOf(path, specifier)
    const reason = objectionTo(path, specifier) ?? missingFile(target, sources)
    if (reason) violations.push(`${path} imports ${target ?? specifier}: ${reason}`)
  }
  return violations
}

/** An import that leads to no source would fall out of the picture, and with it what lies behind. */
function missingFile(target: string | undefined, sources: Sources): string | undefined {
  return target === undefined || sources.has(target) ? undefined : 'there is no such source file'
}

function cyclesIn(graph: Graph, reason: string): string[] {
  return findCycles(graph).map(cycle => `${cycle.join(' imports ')}: ${reason}`)
}

function fileGraph(imports: ReadonlyMap<string, Imports>): Graph {
  const targets = (path: string, { specifiers }: Imports) => specifiers.flatMap(name => targetOf(path, name) ?? [])
  return new Map([...imports].map(([path, found]) => [path, new Set(targets(path, found))]))
}

/** What imports what, of what the files belong to; those that belong to nothing are left out. */
function graphOf(imports: ReadonlyMap<string, Imports>, ownerOf: (path: string) => string | undefined): Graph {
  const graph = new Map<string, Set<string>>()
  for (const [path, targets] of fileGraph(imports)) {
    const from = ownerOf(path)
    if (!from) continue
    const known = graph.get(from) ?? new Set()
    graph.set(from, known)
    for (const target of targets) {
      const to = ownerOf(target)
      if (to && to !== from) known.add(to)
    }
  }
  return graph
}

function contextOf(path: string): string | undefined {
  const place = placeOf(path)
  return place?.layer === 'core' ? place.unit : undefined
}

/** The folder inside a context or an adapter. What stands beside its folders is the face, or puts them together. */
function folderOf(path: string): string | undefined {
  const [layer = '', unit, folder, file] = path.split('/')
  return ['core', 'adapters'].includes(layer) && file !== undefined ? `${layer}/${unit}/${folder}` : undefined
}
