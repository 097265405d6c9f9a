import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Control, Problem } from '../contracts/index.ts'
import type { Seat } from '../core/agents/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import {
  agentReader,
  checkLibrary,
  consult,
  createDocIndex,
  ownerReader,
  type Reader,
  writtenProblems,
} from '../core/knowledge/index.ts'
import type { Runtime } from './runtime.ts'

/** Reads the docs to the owner, as an agent would see them where one is named, and looks for what is wrong with them. */
export function createDocsControl(runtime: Runtime, clock: Clock): Pick<Control, 'docs' | 'checkDocs'> {
  const { catalogue, agents, health } = runtime.core
  const index = createDocIndex(clock)
  const readerFor = (agent: string | undefined): Reader =>
    agent === undefined ? ownerReader(health) : agentReader({ ...readableBy(agents.seat(agent)), health })
  return {
    docs: async ({ agent, ...question }) =>
      consult(question, { generation: catalogue.current(), reader: readerFor(agent), index }),
    async checkDocs() {
      const problems = [...writtenProblems(runtime.problems()), ...(await docsProblems(runtime))]
      return { units: catalogue.current().knowledge.size, problems }
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

/** What the agent would read as itself: all it was granted, whether it works or not. */
function readableBy(seat: Seat) {
  const view = seat.view()
  const grants = [...view.tools, ...view.unavailable.map(({ grant }) => grant)]
  return {
    grants: new Map(grants.map(grant => [grant.tool.name, grant])),
    withheld: view.report().filter(({ state }) => state !== 'granted'),
    has: (tool: string) => seat.grant(tool) !== undefined,
    isGuest: false,
  }
}
