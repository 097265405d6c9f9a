import { z } from 'zod'
import {
  AppError,
  type CommittedMemory,
  ConversationId,
  MemoryContent,
  type MemoryFacts,
  MemoryId,
  MemoryScope,
  type Platform,
} from '../../contracts/index.ts'
import { defineTool, toolResult } from '../../core/catalogue/index.ts'
import { actorOf } from '../shared/workspace-io.ts'

const Input = z.object({
  content: MemoryContent.describe('What to keep, so that it can be understood on its own.'),
  scope: MemoryScope.optional().describe('Who may read it: LOCAL when left out. An update leaves it as it was.'),
  memory_id: MemoryId.optional().describe('The memory to replace, instead of adding one.'),
  version: z
    .number()
    .int()
    .positive()
    .optional()
    .describe('With memory_id: the version that you read. Refused when it has changed since.'),
  conversation_id: ConversationId.optional().describe(
    'Of a new memory: the conversation it comes from, so that its parts stay together.',
  ),
})

/** A memory with the field names of tools. */
export const WireMemory = z.object({
  memory_id: z.string(),
  scope: MemoryScope,
  content: z.string().describe('As it was written.'),
  version: z.number().int().positive(),
  written_by: z.object({ workspace_id: z.string(), name: z.string() }),
  operation_id: z.string().nullable(),
  conversation_id: z.string().nullable(),
  created_at: z.string().describe('RFC 3339.'),
  updated_at: z.string(),
  updated_by: z.string(),
})
export type WireMemory = z.infer<typeof WireMemory>

const Output = z.object({
  memory: WireMemory,
  outcome: z.enum(['created', 'updated', 'known']),
  redacted: z.number().int().nonnegative().describe('How many secrets were taken out.'),
  note: z.string(),
})

/** The tool that stores a memory. */
export function createCommitMemory(memory: Platform['memory']) {
  return defineTool({
    name: 'commit_memory',
    title: 'Remember',
    short: 'Remember something beyond this session: a decision, a fact, the outcome of finished work.',
    whenToUse:
      'When a later session, or another agent, should not have to find it out again. LOCAL keeps it for this workspace. ' +
      'TEAM adds the workspace above yours and those beside it; for the root, those right below it. GLOBAL is for the whole ' +
      'organisation and needs the ability "memory.global". Give memory_id to change a memory of yours. Repeating the same ' +
      'content in one scope adds nothing. Passwords, keys and tokens are removed before anything is stored; whole files do ' +
      'not belong here.',
    command: { name: 'remember' },
    input: Input,
    output: Output,
    examples: [
      { query: 'remember that deployments happen on Tuesdays', input: { content: 'Deployments happen on Tuesdays.' } },
      {
        query: 'let the team know which region we chose',
        input: { content: 'We chose the region eu-central-1 for the archive.', scope: 'TEAM' },
      },
    ],
    mutates: true,
    // The same content in the same scope is stored once, and a repeated update changes nothing.
    idempotent: true,
    async handler(input, context) {
      expectUsed(input)
      const { content, scope, memory_id, version, conversation_id } = input
      const service = await memory()
      const wish = { content, scope, version, memoryId: memory_id, conversationId: conversation_id }
      const committed = await service.commit(actorOf(context), wish)
      const { outcome, redacted } = committed
      const wire = toWire(committed.memory)
      const note = noteOf(committed)
      return toolResult({
        content: [{ type: 'text', text: `${note} memory_id: ${wire.memory_id}` }],
        structuredContent: { memory: wire, outcome, redacted, note },
      })
    },
  })
}

/** Refuses input that would be ignored, because the caller expects an effect. */
function expectUsed({ memory_id, version, conversation_id }: z.infer<typeof Input>): void {
  if (memory_id === undefined && version !== undefined)
    throw new AppError('INPUT_INVALID', '"version" is for an update: give the memory_id as well.')
  if (memory_id !== undefined && conversation_id !== undefined)
    throw new AppError('INPUT_INVALID', '"conversation_id" is for a new memory: an update does not change it.')
}

function noteOf({ memory, outcome, redacted }: CommittedMemory): string {
  const what = {
    created: `Remembered for ${READERS[memory.scope]}.`,
    updated: `It is version ${memory.version} now and took the place of version ${memory.version - 1}, for ${READERS[memory.scope]}.`,
    known: `"${memory.provenance.workspaceName}" has remembered exactly this before, for ${READERS[memory.scope]}; nothing was added.`,
  }[outcome]
  if (redacted === 0) return what
  return `${what} ${redacted === 1 ? 'One secret was' : `${redacted} secrets were`} taken out of it first.`
}

const READERS = { LOCAL: 'this workspace', TEAM: 'the team', GLOBAL: 'the whole organisation' } as const

/** The tool that deletes a memory. */
export function createForgetMemory(memory: Platform['memory']) {
  return defineTool({
    name: 'forget_memory',
    title: 'Forget',
    short: 'Forget a memory permanently, by its memory_id.',
    whenToUse:
      'When a memory of yours has become wrong and nothing takes its place; to correct one, use commit_memory with its ' +
      'memory_id. You may forget what you wrote, what lies with the team you lead, and GLOBAL memory with the ability ' +
      '"memory.global". For an unknown memory forgotten is false.',
    command: { name: 'forget' },
    input: z.object({ memory_id: MemoryId.describe('memory_id of the memory, from recall_memory or commit_memory.') }),
    output: z.object({ memory_id: z.string(), forgotten: z.boolean() }),
    examples: [{ query: 'that is not true any more', input: { memory_id: 'mem_1k2j3h4g5f6d7s8a' } }],
    mutates: true,
    idempotent: true,
    async handler({ memory_id }, context) {
      const { id, forgotten } = await (await memory()).forget(actorOf(context), memory_id)
      const text = forgotten ? `"${id}" is forgotten.` : `Nothing was forgotten: there is no memory "${id}" here.`
      return toolResult({ content: [{ type: 'text', text }], structuredContent: { memory_id: id, forgotten } })
    },
  })
}

export function toWire({ id, scope, content, version, provenance }: MemoryFacts): WireMemory {
  return {
    memory_id: id,
    scope,
    content,
    version,
    written_by: { workspace_id: provenance.workspaceId, name: provenance.workspaceName },
    operation_id: provenance.operationId,
    conversation_id: provenance.conversationId,
    created_at: new Date(provenance.createdAt).toISOString(),
    updated_at: new Date(provenance.updatedAt).toISOString(),
    updated_by: provenance.updatedBy,
  }
}
