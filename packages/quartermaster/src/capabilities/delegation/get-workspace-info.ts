import { z } from 'zod'
import { Ability, type Platform, WorkspaceStatus } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { quotedLine, WORDS_OF_OTHERS } from '../shared/message-words.ts'

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
    short: "Get this workspace's own info: id, name, role, tier, parent, status, abilities.",
    whenToUse:
      'To find out who you are here: before reporting back to a person, or to see whether you may write GLOBAL memory ' +
      '(the ability "memory.global"). For others, use list_peers.',
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
    role === '' ? 'You have no role.' : `Your role: ${quotedLine(role)}.`,
    `${place}; your tier is ${tier}.`,
    abilities.length === 0 ? 'You have no special abilities.' : `Your abilities: ${abilities.join(', ')}.`,
    WORDS_OF_OTHERS,
  ].join('\n')
}
