import { type Clock, inTurns, type Steps } from '../kernel/index.ts'
import { lettersOf, skeletonOf } from './scan/look-alikes.ts'
import type { OtherNames } from './scan/names.ts'

/** A tool of anybody. */
export interface NamedTool {
  /** As agents call it. */
  readonly name: string
  /** Where it comes from. */
  readonly unit: string
}

/** Names of the tools that are not of this unit. */
export type ToolsOfOthers = (unit: string) => Promise<OtherNames>

export interface ToolsOfOthersDeps {
  /** All tools there are now; the same map as long as they are the same. */
  tools(): Promise<ReadonlyMap<string, NamedTool>>
  /** What its own server calls a tool: the name without what the configuration has made of it. */
  ownNameOf(tool: NamedTool): string
  readonly clock: Pick<Clock, 'now' | 'breathe'>
}

/** To compare names takes a while where there are many, and a hundred servers ask for the same ones: they are made once. */
export function createToolsOfOthers({ tools, ownNameOf, clock }: ToolsOfOthersDeps): ToolsOfOthers {
  const made = new WeakMap<object, Promise<ToolNames>>()
  return async unit => {
    const all = await tools()
    const names = made.get(all) ?? inTurns(toolNamesOf(all.values(), ownNameOf), clock)
    made.set(all, names)
    return namesBut(await names, unit)
  }
}

type Tools = Map<string, NamedTool[]>

interface ToolNames {
  readonly byLetters: Tools
  /** Those of them that their own servers call otherwise. */
  readonly onlyHere: Tools
  readonly byOwnLetters: Tools
  readonly bySkeleton: Tools
}

function* toolNamesOf(tools: Iterable<NamedTool>, ownNameOf: ToolsOfOthersDeps['ownNameOf']): Steps<ToolNames> {
  const names: ToolNames = { byLetters: new Map(), onlyHere: new Map(), byOwnLetters: new Map(), bySkeleton: new Map() }
  for (const tool of tools) {
    const letters = lettersOf(tool.name)
    const own = lettersOf(ownNameOf(tool))
    add(names.byLetters, letters, tool)
    add(names.bySkeleton, skeletonOf(tool.name), tool)
    if (own !== letters) {
      add(names.onlyHere, letters, tool)
      add(names.byOwnLetters, own, tool)
    }
    yield
  }
  return names
}

/** Some of each unit: whoever has many that are alike must not crowd out the one they are like. */
function add(tools: Tools, key: string, tool: NamedTool): void {
  const list = tools.get(key) ?? []
  tools.set(key, list)
  if (list.filter(({ unit }) => unit === tool.unit).length < MOST_OF_A_UNIT) list.push(tool)
}

const MOST_OF_A_UNIT = 2

function namesBut({ byLetters, onlyHere, byOwnLetters, bySkeleton }: ToolNames, own: string): OtherNames {
  const foreign = (tools: Tools, key: string) => tools.get(key)?.filter(({ unit }) => unit !== own) ?? []
  return {
    named: letters => foreign(byLetters, letters)[0]?.name,
    namedOnlyHere: letters => foreign(onlyHere, letters)[0]?.name,
    calledByItsServer: letters => foreign(byOwnLetters, letters)[0]?.name,
    alike: skeleton => foreign(bySkeleton, skeleton).map(({ name }) => name),
  }
}
