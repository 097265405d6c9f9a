import { type LentFiles, NAMES_ATTACHMENTS } from '../contracts/index.ts'
import { mostBytes } from '../core/attachments/index.ts'
import type { Tool } from '../core/catalogue/index.ts'
import type { Runtime } from './runtime.ts'

/** What a bridge is told that hands in files for an agent. */
export function lentFiles({ core, project, folders, upstreams }: LentFilesParts): (agent: string) => LentFiles {
  return agent => {
    const { config = { capabilities: {} } } = core.agents.entry(agent)
    // What a server of others says of its inputs is about paths and ids of its own.
    const own = [...core.catalogue.current().tools.values()].filter(({ source }) => source !== upstreams.source.id)
    return {
      workspaceDir: folders({ ...config, name: agent }).workspaceDir,
      maxBytes: mostBytes(project.settings),
      inputs: own.flatMap(inputsOf),
    }
  }
}

export type LentFilesParts = Pick<Runtime, 'core' | 'project' | 'folders' | 'upstreams'>

function inputsOf({ name: tool, inputSchema: { properties } }: Tool): LentFiles['inputs'] {
  const marked = Object.entries(properties ?? {}).filter(([, schema]) => isMarked(schema))
  return marked.map(([input]) => ({ tool, input }))
}

function isMarked(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && NAMES_ATTACHMENTS in schema
}
