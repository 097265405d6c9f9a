import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Control, Problem } from '../contracts/index.ts'
import { checkLibrary, KNOWLEDGE_SOURCE, ownerReader, writtenProblems } from '../core/knowledge/index.ts'
import type { Runtime } from './runtime.ts'

/** Reads the docs to the owner, as an agent would see them where one is named, and looks for what is wrong with them. */
export function createDocsControl(runtime: Runtime): Pick<Control, 'docs' | 'checkDocs'> {
  const { catalogue, agents, health, docs } = runtime.core
  return {
    docs: async ({ agent, ...question }) =>
      docs.answer(question, {
        generation: catalogue.current(),
        reader: agent === undefined ? ownerReader(health) : agents.seat(agent).reader(),
      }),
    async checkDocs() {
      const problems = [...writtenProblems(runtime.problems()), ...(await docsProblems(runtime))]
      const { knowledge, tools } = catalogue.current()
      const declared = [...tools.values()].filter(({ source }) => source === KNOWLEDGE_SOURCE)
      return { units: knowledge.size + declared.length, problems }
    },
  }
}

/** What is wrong between units, beyond what leaves one out. */
export function docsProblems({ core, project }: Pick<Runtime, 'core' | 'project'>): Promise<Problem[]> {
  return checkLibrary(core.catalogue.current(), {
    exists: path =>
      access(join(project.projectDir, path)).then(
        () => true,
        () => false,
      ),
  })
}
