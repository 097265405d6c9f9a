import { writeFirstAgent } from '../adapters/project-files/index.ts'
import { messageOf } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import type { Tokens } from '../core/organisation/index.ts'
import type { Project } from './project.ts'

/** An agent that was just made, with the one sight of its token. */
export interface FirstAgent {
  readonly agent: string
  readonly token: string
}

/** In a folder without any agent: makes the first one, and a token for it. */
export async function makeFirstAgent(
  { projectDir, agentFiles }: Project,
  { tokens, log }: { tokens: Tokens; log: Log },
): Promise<FirstAgent | undefined> {
  if ((await agentFiles.load()).length > 0) return undefined
  try {
    const agent = await writeFirstAgent({ dir: projectDir })
    const { token } = await tokens.create({ agent, label: 'first start' })
    return { agent, token }
  } catch (error) {
    // A folder that cannot be written can still be served; its owner is told what is missing.
    log.warn('The first agent could not be made.', { reason: messageOf(error) })
    return undefined
  }
}
