import type { Problem } from '../../contracts/index.ts'
import { didYouMean, type Steps } from '../kernel/index.ts'
import { type CheckedUnit, describeTool, leftOut, WRONG_DEFINITION } from './check-unit.ts'
import type { CheckDeps } from './checks.ts'
import { misfit } from './compose-parts.ts'
import { type DeclaredTool, declaredTool } from './declared-tool.ts'
import { defineCapability, titleFrom } from './define.ts'
import {
  type CatalogueCapability,
  type CatalogueOp,
  type Declaration,
  type Dependency,
  inOrder,
  type Knowledge,
  type Tool,
} from './generation.ts'

/** Makes of the units' declarations what the ops allow. */
export type Declare = (units: readonly CheckedUnit[], ops: ReadonlyMap<string, CatalogueOp>) => Declared

/** What the declarations of all units bring together. */
export interface Declared {
  /** By the unit in whose place each stands: the first that has a tool of it. */
  readonly capabilities: ReadonlyMap<CheckedUnit, readonly DeclaredCapability[]>
  readonly dependencies: readonly Dependency[]
  readonly problems: readonly Problem[]
}

interface DeclaredCapability {
  readonly capability: CatalogueCapability
  /** The files it is made of. */
  readonly declarations: readonly Declaration[]
}

interface Bundle {
  readonly unit: CheckedUnit
  readonly declarations: Declaration[]
  readonly tools: Tool[]
}

interface Declarer {
  /** Makes tools of declarations, and one capability of all that name it, whichever files they stand in. */
  readonly declare: Declare
  /** Does the long part of it ahead, pausing after every tool so that others can have their turn. */
  prepare(units: readonly CheckedUnit[]): Steps<void>
}

export function createDeclarer(deps: CheckDeps): Declarer {
  const toolOf = createToolMaker(deps)
  return {
    declare: (units, ops) => compose(units, declaration => toolOf(declaration, ops), deps),
    *prepare(units) {
      // The last one set is the first in order.
      const ops = new Map(
        inOrder(units)
          .flatMap(unit => unit.ops)
          .toReversed()
          .map(op => [op.id, op]),
      )
      for (const declaration of units.flatMap(unit => unit.declarations)) yield toolOf(declaration, ops)
    },
  }
}

function compose(
  units: readonly CheckedUnit[],
  toolOf: (declaration: Declaration) => DeclaredTool,
  deps: CheckDeps,
): Declared {
  const bundles = new Map<string, Bundle>()
  const dependencies = new Map<string, Dependency>()
  const problems: Problem[] = []
  for (const unit of units) {
    for (const declaration of unit.declarations) {
      const made = toolOf(declaration)
      const bundle = bundles.get(declaration.capability) ?? { unit, declarations: [], tools: [] }
      bundles.set(declaration.capability, bundle)
      bundle.declarations.push(declaration)
      if (made.tool) bundle.tools.push(made.tool)
      // Two that need the same secret share what looks for it.
      for (const one of made.dependencies) dependencies.set(`${one.name}\n${one.hash}`, one)
      problems.push(...made.problems)
    }
  }
  const pages = new Map(units.flatMap(unit => unit.knowledge.map(page => [page.path, page] as const)))
  const capabilities = new Map<CheckedUnit, DeclaredCapability[]>()
  for (const [key, bundle] of bundles) {
    const capability = capabilityOf(key, bundle, { pages, deps })
    const all = capabilities.get(bundle.unit) ?? []
    capabilities.set(bundle.unit, [...all, { capability, declarations: bundle.declarations }])
  }
  return { capabilities, dependencies: [...dependencies.values()], problems }
}

const NOTHING: DeclaredTool = { tool: undefined, dependencies: [], problems: [] }

/** A declaration is looked at again when it or its op has changed, and not otherwise. */
function createToolMaker(deps: CheckDeps) {
  const known = new WeakMap<Declaration, { readonly op: CatalogueOp; readonly made: DeclaredTool }>()
  return (declaration: Declaration, ops: ReadonlyMap<string, CatalogueOp>): DeclaredTool => {
    const { facts } = declaration
    // What is wrong with it by itself was told when it was read.
    if (!facts) return NOTHING
    const op = ops.get(facts.op)
    if (!op) return { ...NOTHING, problems: [noSuchOp(declaration, facts.op, ops)] }
    const before = known.get(declaration)
    if (before?.op === op) return before.made
    const made = declaredTool({ ...declaration, facts }, op, deps)
    known.set(declaration, { op, made })
    return made
  }
}

function noSuchOp(declaration: Declaration, id: string, ops: ReadonlyMap<string, CatalogueOp>): Problem {
  const subject = `declaration:${declaration.path}`
  const text = `declaration "${declaration.path}": op "${id}" is registered by nothing.${didYouMean(id, ops.keys())}`
  const fix = 'Correct the id, or export what registerOp gives from a file in capabilities/.'
  const line = declaration.lines?.fields.op
  const where = line === undefined ? declaration.unit : `${declaration.unit}:${line}`
  return { ...misfit(declaration, subject, 'op', text), where, fix }
}

interface Around {
  readonly pages: ReadonlyMap<string, Knowledge>
  readonly deps: CheckDeps
}

const MOST_SHORT = 1024

function capabilityOf(key: string, { declarations, tools }: Bundle, { pages, deps }: Around): CatalogueCapability {
  const [first] = declarations as [Declaration, ...Declaration[]]
  const page = pages.get(folderOf(first.path, key) ?? key)
  const title = page?.title ?? titleFrom(key)
  const short = page?.summary ?? shortOf(tools, title)
  const sound = new Set(tools.map(({ name }) => name))
  const wrong = declarations.filter(({ name }) => !sound.has(name))
  return {
    source: first.source,
    unit: first.unit,
    key,
    title,
    short,
    descriptors: tools.map(describeTool),
    tools,
    prompts: [],
    resources: [],
    leftOut: wrong.map(({ name }) => leftOut({ name }, WRONG_DEFINITION)),
    unseen: undefined,
    inward: false,
    configSchema: undefined,
    validateConfig: undefined,
    resolver: defineCapability({ key, title, short, tools: [] }),
    hash: deps.digest([key, title, short, ...declarations.map(({ hash }) => hash)].join('\n')),
    position: 0,
  }
}

/** The folder of a file, where the capability has its name. */
function folderOf(path: string, key: string): string | undefined {
  const folders = path.split('/').slice(0, -1)
  return folders.at(-1) === key ? folders.join('/') : undefined
}

/** Where no page of its folder says what it is, its tools do. */
function shortOf(tools: readonly Tool[], title: string): string {
  const text = tools.length === 0 ? `${title}.` : `${tools.map(tool => tool.title).join(', ')}.`
  return text.length <= MOST_SHORT ? text : `${text.slice(0, MOST_SHORT - 1)}…`
}
