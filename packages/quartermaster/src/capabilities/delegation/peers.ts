import { z } from 'zod'
import {
  Ability,
  type PeerFacts,
  type Platform,
  Presence,
  QUOTED_TEXT,
  Relation,
  WorkspaceStatus,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf, cursorInput, limitInput, pageLimit, quoted, quotedLine } from '../shared/workspace-io.ts'
import { remarkOn } from './task-status.ts'

const LIMITS = { usual: 50, most: 200 }

const Peer = z.object({
  workspace_id: z.string(),
  name: z.string(),
  status: Presence.describe('Whether it is online now.'),
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

/** The tool that lists the peers of an agent. */
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
      const { limit, notice } = pageLimit(wanted, LIMITS)
      const actor = actorOf(context)
      const service = await workspace()
      const { peers, nextCursor, reason } = await service.peers(actor, { limit, cursor })
      const structuredContent: z.infer<typeof Output> = {
        peers: await Promise.all(
          peers.map(async peer => toPeer(peer, remarkOn(peer, await service.isWithoutInbox(actor, peer.name)))),
        ),
        next_cursor: nextCursor,
        ...(reason !== undefined && { reason }),
        ...(notice !== undefined && { note: notice }),
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

const InfoOutput = z.object({
  id: z.string(),
  name: z.string(),
  role: z.string(),
  tier: z.number().int().describe('How deep it is in the tree; a root has 0.'),
  parent: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: WorkspaceStatus,
  abilities: z.array(Ability),
})

/** The tool that shows an agent its own workspace. */
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
    output: InfoOutput,
    examples: [{ query: 'who am I in this organisation?', input: {} }],
    mutates: false,
    async handler(_, context) {
      const { id, name, role, tier, parent, status, abilities } = await (await workspace()).info(actorOf(context))
      const structuredContent = { id, name, role, tier, parent, status, abilities }
      return toolResult({ content: [{ type: 'text', text: infoText(structuredContent) }], structuredContent })
    },
  })
}

/** Names and the role are quoted: the owner and others wrote them. */
function infoText({ id, name, role, tier, parent, status, abilities }: z.infer<typeof InfoOutput>): string {
  const place = parent ? `Above you is ${quotedLine(parent.name)} (${parent.id})` : 'You are the root'
  return [
    `You are ${quotedLine(name)} (${id}), ${status}.`,
    ...(role === '' ? ['You have no role.'] : ['Your role:', quoted(role)]),
    `${place}; your tier is ${tier}.`,
    abilities.length === 0 ? 'You have no special abilities.' : `Your abilities: ${abilities.join(', ')}.`,
  ].join('\n')
}
