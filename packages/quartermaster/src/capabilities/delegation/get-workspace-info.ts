import { z } from 'zod'
import { Ability, type Platform, QUOTED_TEXT, WorkspaceStatus } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { quoted, quotedLine } from '../shared/message-words.ts'

const Output = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  tier: z.number().int().describe('How deep it is in the tree; a root has 0.'),
  parent: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: WorkspaceStatus,
  abilities: z.array(Ability),
})

/** The tool that tells an agent who it is here. */
export function createGetWorkspaceInfo(workspace: Platform['workspace']) {
  return defineTool({
    name: 'get_workspace_info',
    title: 'This workspace',
    short: `Show who you are here: the id and name of your workspace, its role, its place in the tree, its abilities. ${QUOTED_TEXT}`,
    whenToUse:
      'To name yourself in a report, or to check a right before you rely on it: GLOBAL memory needs the ability ' +
      '"memory.global". The other agents are in list_peers.',
    command: { name: 'info' },
    input: z.object({}),
    output: Output,
    examples: [{ query: 'who am I in this organisation?', input: {} }],
    mutates: false,
    async handler(_, context) {
      const { id, name, role, tier, parent, status, abilities } = await (await workspace()).info(actorOf(context))
      const structuredContent = { id, name, role, tier, parent, status, abilities }
      return toolResult({ content: [{ type: 'text', text: inWords(structuredContent) }], structuredContent })
    },
  })
}

/** Names and the role are what the owner and others wrote. */
function inWords({ id, name, role, tier, parent, status, abilities }: z.infer<typeof Output>): string {
  const place = parent ? `Above you is ${quotedLine(parent.name)} (${parent.id})` : 'You are the root'
  return [
    `You are ${quotedLine(name)} (${id}), ${status}.`,
    ...(role === '' ? ['You have no role.'] : ['Your role:', quoted(role)]),
    `${place}; your tier is ${tier}.`,
    abilities.length === 0 ? 'You have no special abilities.' : `Your abilities: ${abilities.join(', ')}.`,
  ].join('\n')
}
