import { messageOf, type Problem } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Organisation } from '../../core/organisation/index.ts'
import type { Runtime } from './runtime.ts'

/** Keeps the workspaces of the folder's agents as the files say. */
export interface WorkspaceSync {
  /** Resolves when everything that was read so far is written. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** Follows the agents of a runtime, and has what happens to workspaces told with everything else. */
export function syncWorkspaces(runtime: Runtime, organisation: Organisation, log: Log): WorkspaceSync {
  const { agents, emitter } = runtime.core
  let working: Promise<void> = Promise.resolve()
  let failure: unknown
  const offs = [
    emitter.on('agents.reloaded', () => {
      working = organisation.agentWorkspaces
        .follow(agents.placements())
        .then(() => {
          failure = undefined
        })
        .catch(error => {
          failure = error
          log.error('the places of the agents could not be written', { error: messageOf(error) })
        })
    }),
    organisation.events.on('workspace.changed', event => emitter.emit('workspace.changed', event)),
    organisation.events.on('presence.changed', event => emitter.emit('presence.changed', event)),
  ]
  runtime.alsoProblems(() => [...unwritten(failure), ...agentProblems(runtime, organisation)])
  return {
    settled: () => working,
    async stop() {
      for (const off of offs) off()
      await working
    },
  }
}

/** For a process that answers one command: the organisation after the agents that were read have their places. */
export async function syncWorkspacesOnce({ core }: Runtime, organisation: Organisation): Promise<Organisation> {
  await organisation.agentWorkspaces.follow(core.agents.placements())
  return organisation
}

/** Until they are written agents may be missing for others, or be where they were. */
function unwritten(failure: unknown): Problem[] {
  if (failure === undefined) return []
  const message = `The places of the agents could not be written: ${messageOf(failure)}`
  return [{ severity: 'error', code: 'AGENT_INVALID', where: 'agents', message, fix: 'Run quartermaster reload.' }]
}

function agentProblems({ core: { agents } }: Runtime, { agentWorkspaces }: Organisation): Problem[] {
  const told = (severity: Problem['severity'], texts: ReadonlyMap<string, string>): Problem[] =>
    [...texts]
      .filter(([name]) => agents.has(name))
      .map(([name, message]) => ({
        severity,
        code: 'AGENT_INVALID',
        where: agents.entry(name).file,
        subject: `agent:${name}`,
        field: 'workspace',
        message,
      }))
  return [...told('error', agentWorkspaces.problems()), ...told('warning', agentWorkspaces.warnings())]
}
