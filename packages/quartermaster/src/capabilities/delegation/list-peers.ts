import { z } from 'zod'
import { type PeerFacts, type Platform, Presence, QUOTED_TEXT, Relation } from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/actor.ts'
import { quoted, quotedLine } from '../shared/message-words.ts'
import { cursorInput, limitInput, pageLimit } from '../shared/page-input.ts'
import { remarkOn } from './task-answer.ts'

const LIMITS = { usual: 50, most: 200 }

const Peer = z.object({
  workspace_id: z.string(),
  name: z.string(),
  status: Presence.describe('Whether it is there now.'),
  role: z.string(),
  description: z.string().nullable(),
  relation: Relation,
  capacity: z.number().int().nullable().describe('How many tasks it takes at a time; null when it has not said.'),
  remark: z.string().optional().describe('Why no agent may take a task for it.'),
})

const Output = z.object({
  peers: z.array(Peer),
  next_cursor: z.string().nullable(),
  reason: z.string().optional().describe('Why there are none.'),
  note: z.string().optional(),
})

/** The tool that shows whom an agent can reach. */
export function createListPeers(workspace: Platform['workspace']) {
  return defineTool({
    name: 'list_peers',
    title: 'Peers',
    short: `Show the other agents that you can give tasks to: who they are, what they do, and whether they are online. ${QUOTED_TEXT}`,
    whenToUse:
      'To find the workspace_id of another agent, or to choose who fits a task best. It shows the workspace above yours, ' +
      'those beside it and those right below; all others are out of your reach.',
    command: { name: 'peers' },
    input: z.object({ limit: limitInput(LIMITS), cursor: cursorInput }),
    output: Output,
    examples: [{ query: 'who can help me with this?', input: {} }],
    mutates: false,
    async handler({ limit: wanted, cursor }, context) {
      const { limit, said } = pageLimit(wanted, LIMITS)
      const actor = actorOf(context)
      const service = await workspace()
      const { peers, nextCursor, reason } = await service.peers(actor, { limit, cursor })
      const structuredContent: z.infer<typeof Output> = {
        peers: await Promise.all(
          peers.map(async peer => toPeer(peer, remarkOn(peer, await service.isWithoutInbox(actor, peer.name)))),
        ),
        next_cursor: nextCursor,
        ...(reason !== undefined && { reason }),
        ...(said !== undefined && { note: said }),
      }
      return toolResult({ content: [{ type: 'text', text: inWords(structuredContent) }], structuredContent })
    },
  })
}

function toPeer(facts: PeerFacts, remark: string | undefined): z.infer<typeof Peer> {
  const { id, name, presence, role, description, relation, capacity } = facts
  const peer = { workspace_id: id, name, status: presence, role, description, relation, capacity }
  return { ...peer, ...(remark !== undefined && { remark }) }
}

function inWords({ peers, next_cursor, reason, note }: z.infer<typeof Output>): string {
  const more = next_cursor === null ? [] : [`There are more: go on with cursor ${quotedLine(next_cursor)}.`]
  return [...peers.map(peerText), ...[reason, note].filter(one => one !== undefined), ...more].join('\n')
}

function peerText(peer: z.infer<typeof Peer>): string {
  const { workspace_id, name, relation, status, role, description, capacity, remark } = peer
  const facts = [
    `${workspace_id} ${quotedLine(name)}`,
    relation,
    remark === undefined ? status : `${status} (${remark})`,
    ...(capacity === null ? [] : [`takes ${capacity} tasks at a time`]),
  ]
  const words = [...(role === '' ? [] : [`role: ${role}`]), ...(description === null ? [] : [`says: ${description}`])]
  return [facts.join(', '), ...words.map(quoted)].join('\n')
}
