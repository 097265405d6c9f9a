import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Control, Problem } from '../../contracts/index.ts'
import {
  type Directions,
  fewOfEach,
  fileOf,
  KNOWLEDGE_SOURCE,
  ownerReader,
  unitEntry,
  writtenProblems,
} from '../../core/knowledge/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'

/** The docs as the owner or a named agent sees them, and their problems. */
export function createDocsControl(runtime: Runtime): Pick<Control, 'docs' | 'checkDocs'> {
  const { catalogue, agents, health, docs } = runtime.core
  return {
    docs: async ({ agent, whole = false, ...question }) =>
      docs.answer(question, {
        generation: catalogue.current(),
        reader: agent === undefined ? ownerReader(health) : agents.session(agent).reader(),
        isWhole: whole,
      }),
    async checkDocs() {
      const leftOut = writtenProblems(runtime.problems())
      const problems = fewOfEach([...leftOut, ...(await docsProblems(runtime))])
      return { units: filesOf(runtime, leftOut).size, problems }
    },
  }
}

/** The checked files, including those left out. Pages of the product are not counted. */
function filesOf({ core: { catalogue } }: Runtime, leftOut: readonly Problem[]): ReadonlySet<string> {
  const { knowledge, tools } = catalogue.current()
  return new Set([
    ...[...knowledge.values()].filter(({ isBuiltin }) => !isBuiltin).map(({ unit }) => unit),
    ...[...tools.values()].filter(({ source }) => source === KNOWLEDGE_SOURCE).map(({ unit }) => unit),
    ...leftOut.map(({ where }) => fileOf(where)).filter(file => file !== KNOWLEDGE_SOURCE),
  ])
}

/** Problems between units, beyond those that leave one out. */
export function docsProblems({ core, project }: Pick<Runtime, 'core' | 'project'>): Promise<Problem[]> {
  const { agents, catalogue, docs } = core
  return docs.check(catalogue.current(), {
    maxResultBytes: project.settings.maxResultBytes,
    isOffered: directions => isOffered(directions, agents),
    files: {
      exists: path =>
        access(join(project.projectDir, path)).then(
          () => true,
          () => false,
        ),
    },
  })
}

function isOffered(directions: Directions, agents: Runtime['core']['agents']): boolean | undefined {
  const all = agents.list()
  if (all.length === 0) return undefined
  const entry = unitEntry(directions)
  return all.some(({ name }) => agents.session(name).reader().sees(entry))
}
