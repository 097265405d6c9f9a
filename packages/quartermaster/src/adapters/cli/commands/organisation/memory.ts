import { Option } from 'commander'
import {
  type ControlInput,
  MEMORY_PAGE,
  type MemoryFacts,
  type MemoryPage,
  type MemoryScope,
} from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { cursorOption, defined, nextPage, organisationOption, wholeNumber } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerMemory: Register = (program, act) => {
  const memory = program
    .command('memory')
    .description('Show what workspaces remember, and forget any of it.')
    .usage('list | show | forget [options]')
  registerList(memory, act)
  registerShow(memory, act)
  registerForget(memory, act)
}

const registerList: Register = (memory, act) => {
  const list = memory
    .command('list')
    .description('List memories, newest first; with --query the most fitting first.')
    .option('--workspace <WORKSPACE>', 'what this one reads, by its id or name; everything without')
    .option('--query <TEXT>', 'what is looked for, as the workspace would ask')
    .addOption(new Option('--scope <SCOPE>', 'only these').choices(['LOCAL', 'TEAM', 'GLOBAL']))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(organisationOption())
    .action((options: ListOptions) => act(session => listMemories(session, defined({ ...options }))))
  addExamples(list, [
    ['quartermaster memory list', 'everything, newest first'],
    ['quartermaster memory list --workspace researcher --query "rate limits"', 'what that agent would recall'],
  ])
}

const registerShow: Register = (memory, act) => {
  const show = memory
    .command('show')
    .description('Show a memory whole, and who wrote it.')
    .argument('<ID>', 'the memory')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => showMemory(session, defined({ id, ...options }))))
  addExamples(show, [['quartermaster memory show mem_5kQw', 'its text, its author and its version']])
}

const registerForget: Register = (memory, act) => {
  const forget = memory
    .command('forget')
    .description('Forget a memory permanently, no matter which agent wrote it.')
    .argument('<ID>', 'the memory')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => forgetMemory(session, defined({ id, ...options }))))
  addExamples(forget, [['quartermaster memory forget mem_5kQw', 'no agent recalls it any more']])
}

interface Within {
  organisation?: string
}

interface ListOptions extends Within {
  workspace?: string
  query?: string
  scope?: MemoryScope
  limit?: number
  cursor?: string
}

function limitOption(): Option {
  const most = MEMORY_PAGE.most
  return new Option('--limit <NUMBER>', `at most this many, up to ${most}`).default(20).argParser(wholeNumber(1, most))
}

async function listMemories(session: Session, input: ControlInput<'memories'>): Promise<number> {
  const page = await session.connect(control => session.attend('Looking', on => control.memories(input, on)))
  if (session.json) await session.printJson(page)
  else if (page.memories.length === 0) await session.notices.write('Nothing is remembered there.\n')
  else {
    await session.out.write(listText(page, session))
    await session.notices.write(nextPage(page.nextCursor ?? undefined))
  }
  return EXIT.done
}

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
    cells: [id, scope, workspaceName, `${inWords(Math.max(0, now - updatedAt))} ago`, content],
  }))
  return renderTable({ columns, rows }, out)
}

async function showMemory(session: Session, input: ControlInput<'memory'>): Promise<number> {
  session.hints = { listing: ['memory', 'list'] }
  const found = await session.connect(control => session.attend('Looking', on => control.memory(input, on)))
  if (session.json) await session.printJson(found)
  else await session.out.write(memoryText(found))
  return EXIT.done
}

/** Every line of the content has a bar before it, because it is quoted. */
function memoryText({ id, scope, version, content, provenance }: MemoryFacts): string {
  const { workspaceName, operationId, conversationId, createdAt, updatedAt, updatedBy } = provenance
  const facts = [
    `${id} (${scope}, version ${version})`,
    `written by ${workspaceName} on ${timeOf(createdAt)}${operationId === null ? '' : ` in ${operationId}`}`,
    ...(version > 1 ? [`changed by ${updatedBy} on ${timeOf(updatedAt)}`] : []),
    ...(conversationId === null ? [] : [`part of the conversation ${conversationId}`]),
  ]
  const said = content.split(/\r\n|[\n\r\u2028\u2029]/).map(line => `| ${line}`)
  return `${[...facts, ...said].map(escapeLine).join('\n')}\n`
}

const timeOf = (ms: number) => new Date(ms).toISOString()

async function forgetMemory(session: Session, input: ControlInput<'forgetMemory'>): Promise<number> {
  session.hints = { listing: ['memory', 'list'] }
  const { id, forgotten } = await session.connect(control =>
    session.attend('Forgetting', on => control.forgetMemory(input, on)),
  )
  if (session.json) await session.printJson({ id, forgotten })
  else if (forgotten) await session.out.write(`${session.out.paint.green('✓')} ${escapeLine(`${id} is forgotten.`)}\n`)
  else await session.notices.write(`${escapeLine(`There is no memory ${id}. See: quartermaster memory list`)}\n`)
  return forgotten ? EXIT.done : EXIT.no
}
