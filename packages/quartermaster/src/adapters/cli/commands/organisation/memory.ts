import { Option } from 'commander'
import { MEMORY_PAGE, type MemoryFacts } from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { cursorOption, limitOption, nextPage, organisationOption } from '../../options.ts'
import { renderTable } from '../../output/layout.ts'
import { barred, escapeLine } from '../../output/terminal.ts'
import { agoText, isoTime } from '../../output/units.ts'

const hints = () => ({ listing: ['memory', 'list'] })

export const registerMemory = resourceCommands(
  ['memory', 'Show what workspaces remember, and forget any of it.', 'list | show | forget [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List memories, newest first; with --query the best match first.',
      operation: 'memories',
      options: [
        new Option('--workspace <WORKSPACE>', 'what this one can read, by its id or name (default: everything)'),
        new Option('--query <TEXT>', 'what to look for, as the workspace would ask'),
        new Option('--scope <SCOPE>', 'only these').choices(['LOCAL', 'TEAM', 'GLOBAL']),
        limitOption(MEMORY_PAGE.most).default(20),
        cursorOption(),
        organisationOption(),
      ],
      examples: [
        ['quartermaster memory list', 'everything, newest first'],
        ['quartermaster memory list --workspace researcher --query "rate limits"', 'what that agent would recall'],
      ],
      answer({ memories, nextCursor }, { host, out }) {
        if (memories.length === 0) return { notice: 'Nothing is remembered there.\n' }
        const now = host.clock.now()
        const rows = memories.map(({ id, scope, content, provenance: { workspaceName, updatedAt } }) => {
          return [id, scope, workspaceName, agoText(updatedAt, now), content]
        })
        const columns = ['Id', 'Scope', 'By', 'Changed', { wraps: 'Content' }]
        return { text: renderTable(columns, rows, out), notice: nextPage(nextCursor) }
      },
    }),
    controlCommand({
      name: 'show',
      description: 'Show a memory whole, and who wrote it.',
      operation: 'memory',
      arguments: [['<ID>', 'the memory', 'id']],
      options: [organisationOption()],
      examples: [['quartermaster memory show mem_5kQw', 'its text, its author and its version']],
      hints,
      answer: found => ({ text: memoryText(found) }),
    }),
    controlCommand({
      name: 'forget',
      description: 'Forget a memory permanently, no matter which agent wrote it.',
      operation: 'forgetMemory',
      arguments: [['<ID>', 'the memory', 'id']],
      options: [organisationOption()],
      examples: [['quartermaster memory forget mem_5kQw', 'no agent recalls it any more']],
      label: 'Forgetting',
      hints,
      answer: ({ id, forgotten }, session) => ({
        json: { id, forgotten },
        ...(forgotten
          ? { text: doneLine(session, `${id} is forgotten.`) }
          : { notice: `${escapeLine(`There is no memory ${id}. See: quartermaster memory list`)}\n`, code: EXIT.no }),
      }),
    }),
  ],
)

function memoryText({ id, scope, version, content, provenance }: MemoryFacts): string {
  const { workspaceName, operationId, conversationId, createdAt, updatedAt, updatedBy } = provenance
  const facts = [
    `${id} (${scope}, version ${version})`,
    `written by ${workspaceName} on ${isoTime(createdAt)}${operationId === null ? '' : ` in ${operationId}`}`,
    ...(version > 1 ? [`changed by ${updatedBy} on ${isoTime(updatedAt)}`] : []),
    ...(conversationId === null ? [] : [`part of the conversation ${conversationId}`]),
  ]
  return `${[...facts, ...barred(content)].map(escapeLine).join('\n')}\n`
}
