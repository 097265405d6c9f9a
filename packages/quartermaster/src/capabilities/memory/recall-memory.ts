import { z } from 'zod'
import {
  LONGEST_MEMORY_QUERY,
  MEMORY_PAGE,
  MemoryScopeFilter,
  type Platform,
  QUOTED_TEXT,
  type RecalledMemory,
  TOOL_NAMES,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf, cursorInput, limitInput, pageLimit, quoted } from '../shared/workspace-io.ts'
import { toWire, WireMemory } from './commit-memory.ts'

const Input = z.object({
  query: z
    .string()
    .max(LONGEST_MEMORY_QUERY)
    .default('')
    .describe('Words to look for; left empty, everything that you may read, newest first.'),
  scope: MemoryScopeFilter.default('').describe('Only memories of this scope; left empty, of all.'),
  limit: limitInput(MEMORY_PAGE),
  cursor: cursorInput,
})

const Neighbour = z.object({ memory_id: z.string(), stands: z.enum(['before', 'after']), content: z.string() })

const Output = z.object({
  memories: z.array(
    WireMemory.extend({
      score: z.number().nullable().describe('How well it fits the query, against the others; null in a list.'),
      neighbours: z.array(Neighbour).describe('The memories right before and after it.'),
    }),
  ),
  next_cursor: z.string().nullable(),
  note: z.string().optional(),
})

/** The tool that searches memories. */
export function createRecallMemory(memory: Platform['memory']) {
  return defineTool({
    name: TOOL_NAMES.recall,
    title: 'Recall',
    short: `Find what was remembered, by you, your team and the whole organisation. ${QUOTED_TEXT}`,
    whenToUse:
      'Before you begin something, and whenever an earlier decision could matter. One matching word is enough, in any form; ' +
      'the best matches come first, each with what was remembered right before and after it. The instructions at the start ' +
      'of a session have a few of them already.',
    command: { name: 'recall', arguments: ['query'] },
    input: Input,
    output: Output,
    examples: [
      { query: 'what did we decide about the archive?', input: { query: 'archive region decision' } },
      { query: 'everything the team knows', input: { scope: 'TEAM' } },
    ],
    mutates: false,
    // Control characters are escaped in the answer, which makes it up to twelve times as large.
    maxResultBytes: 16 * 1024 * 1024,
    async handler({ query, scope, limit: wanted, cursor }, context) {
      const { limit, notice } = pageLimit(wanted, MEMORY_PAGE)
      const page = await (await memory()).recall(actorOf(context), { query, scope, limit, cursor })
      const notes = [notice, page.memories.length === 0 ? noneFound(query) : undefined].filter(one => one !== undefined)
      const memories = page.memories.map(toRecalled)
      const structuredContent = {
        memories,
        next_cursor: page.nextCursor,
        ...(notes.length > 0 && { note: notes.join(' ') }),
      }
      return toolResult({ content: [{ type: 'text', text: textOf(structuredContent) }], structuredContent })
    },
  })
}

type Answer = z.infer<typeof Output>

/** Text for clients without structured content, with memories quoted. */
function textOf({ memories, next_cursor, note }: Answer): string {
  const notes = note === undefined ? [] : [note]
  const more = next_cursor === null ? [] : [`There is more: next_cursor ${next_cursor}`]
  return [...notes, ...memories.map(memoryText), ...more].join('\n\n')
}

function memoryText({
  memory_id,
  scope,
  version,
  written_by,
  updated_at,
  content,
  neighbours,
}: Answer['memories'][number]) {
  const head = `${memory_id} · ${scope} · by ${written_by.name} · ${updated_at} · version ${version}`
  const beside = neighbours.map(one => `  right ${one.stands} it (${one.memory_id}):\n${quoted(one.content)}`)
  return [head, quoted(content), ...beside].join('\n')
}

function toRecalled({ score, neighbours, ...facts }: RecalledMemory) {
  return {
    ...toWire(facts),
    score,
    neighbours: neighbours.map(({ id, stands, content }) => ({ memory_id: id, stands, content })),
  }
}

function noneFound(query: string): string {
  return query.trim() === ''
    ? 'Nothing that you can read has been remembered yet.'
    : 'No memory that you can read has any of these words. An empty query lists all.'
}
