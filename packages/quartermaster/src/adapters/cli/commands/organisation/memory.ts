import { Option } from 'commander'
import { MEMORY_PAGE, type MemoryFacts, type MemoryPage } from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { cursorOption, nextPage, organisationOption, wholeNumber } from '../../options.ts'
import { barred, escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { agoText, isoTime } from '../../output/units.ts'
import type { Session } from '../../session.ts'

const hints = () => ({ listing: ['memory', 'list'] })

export const registerMemory = resourceCommands(
  ['memory', 'Show what workspaces remember, and forget any of it.', 'list | show | forget [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List memories, newest first; with --query the most fitting first.',
      operation: 'memories',
      options: [
        new Option('--workspace <WORKSPACE>', 'what this one reads, by its id or name; everything without'),
        new Option('--query <TEXT>', 'what is looked for, as the workspace would ask'),
        new Option('--scope <SCOPE>', 'only these').choices(['LOCAL', 'TEAM', 'GLOBAL']),
        new Option('--limit <NUMBER>', `at most this many, up to ${MEMORY_PAGE.most}`)
          .default(20)
          .argParser(wholeNumber(1, MEMORY_PAGE.most)),
        cursorOption(),
        organisationOption(),
      ],
      examples: [
        ['quartermaster memory list', 'everything, newest first'],
        ['quartermaster memory list --workspace researcher --query "rate limits"', 'what that agent would recall'],
      ],
      answer: (page, session) =>
        page.memories.length === 0
          ? { notice: 'Nothing is remembered there.\n' }
          : { text: listText(page, session), notice: nextPage(page.nextCursor ?? undefined) },
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

function listText({ memories }: MemoryPage, { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'Scope' },
    { title: 'By' },
    { title: 'Changed' },
    { title: 'Content', flexible: true },
  ]
  const rows = memories.map(({ id, scope, content, provenance: { workspaceName, updatedAt } }) => ({
    cells: [id, scope, workspaceName, agoText(updatedAt, now), content],
  }))
  return renderTable({ columns, rows }, out)
}

/** Every line of the content has a bar before it, because it is quoted. */
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
