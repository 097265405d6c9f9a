import { Option } from 'commander'
import { type OperationFacts, OperationState, type OperationSummary } from '../../../contracts/index.ts'
import { sizeInWords } from '../bytes.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { inWords } from '../duration.ts'
import { EXIT } from '../errors.ts'
import { escapeLine, toJsonText } from '../escape.ts'
import { fields } from '../layout.ts'
import { cursorOption, limitOption, nextPage } from '../paging.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { renderTable } from '../table.ts'

export const registerOperations: Register = (program, act) => {
  const operations = program
    .command('operations')
    .description('Show calls that may have changed something, and tasks.')
    .usage('list | show [options]')
  registerList(operations, act)
  registerShow(operations, act)
}

interface ListOptions {
  agent?: string
  state?: OperationState
  limit?: number
  cursor?: string
}

const registerList: Register = (operations, act) => {
  const list = operations
    .command('list')
    .description('List operations, newest first.')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(new Option('--state <STATE>', 'only those in this state').choices(OperationState.options))
    .addOption(limitOption())
    .addOption(cursorOption())
    .action((options: ListOptions) => act(session => listOperations(session, options)))
  addExamples(list, [
    ['quartermaster operations list', 'the last fifty'],
    ['quartermaster operations list --agent default --state unknown', 'what one agent has to look after'],
  ])
}

const registerShow: Register = (operations, act) => {
  const show = operations
    .command('show')
    .description('Show everything about one operation.')
    .argument('<ID>', 'the operation, by its id')
    .action((id: string) => act(session => showOperation(session, id)))
  addExamples(show, [['quartermaster operations show op_9fGk', 'how it ended, and why']])
}

async function listOperations(session: Session, { agent, state, limit, cursor }: ListOptions): Promise<number> {
  const filter = defined({ agent, state, limit, cursor })
  const page = await session.connect(control =>
    session.attend('Looking', options => control.operations(filter, options)),
  )
  if (session.json) await session.printJson(page)
  else if (page.operations.length === 0) await session.notices.write('There are none.\n')
  else {
    await session.out.write(listText(page.operations, session))
    await session.notices.write(nextPage(page.nextCursor))
  }
  return EXIT.done
}

function listText(operations: readonly OperationSummary[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'Agent' },
    { title: 'Tool' },
    { title: 'State' },
    { title: 'Begun' },
    { title: 'Error', flexible: true },
  ]
  const rows = operations.map(({ id, agent, tool, state, createdAt, code = '' }) => ({
    cells: [id, agent, tool, { text: state, style: out.paint[styleOf(state)] }, agoText(createdAt, now), code],
  }))
  return renderTable({ columns, rows }, out)
}

function styleOf(state: OperationState): 'green' | 'red' | 'yellow' | 'dim' {
  if (state === 'succeeded') return 'green'
  if (state === 'unknown' || state === 'leased') return 'yellow'
  return state === 'cancelled' ? 'dim' : 'red'
}

function agoText(time: number, now: number): string {
  return `${inWords(Math.max(0, now - time))} ago`
}

async function showOperation(session: Session, id: string): Promise<number> {
  const facts = await session.connect(control =>
    session.attend('Looking', options => control.operation({ id }, options)),
  )
  if (session.json) await session.printJson(facts)
  else await printFacts(session, facts)
  return EXIT.done
}

/** More of a result than this would push everything else about the operation off the screen. */
const MOST_SHOWN = 2_000

/** On a terminal a long result is cut; anywhere else, and with `--json`, it goes out whole. */
async function printFacts({ out, notices }: Session, facts: OperationFacts): Promise<void> {
  const result = facts.result && toJsonText(facts.result, { pretty: false })
  const isCut = out.isTerminal && result !== undefined && result.length > MOST_SHOWN
  await out.write(factsText(facts, isCut ? `${headOf(result)}…` : result, out))
  if (isCut) await notices.write(cutNotice(result, facts.id))
}

/** Not in the middle of a character. */
function headOf(text: string): string {
  return text.slice(0, MOST_SHOWN).replace(/[\uD800-\uDBFF]$/, '')
}

function cutNotice(result: string, id: string): string {
  const [shown, all] = [headOf(result), result].map(text => sizeInWords(new TextEncoder().encode(text).length))
  return `The result is cut at ${shown} of ${all}. To see all of it: quartermaster operations show ${escapeLine(id)} --json, or into a file or a pager.\n`
}

function factsText(facts: OperationFacts, result: string | undefined, out: Printer): string {
  const { endedAt, error } = facts
  return fields(
    [
      ['Id', facts.id],
      ['Agent', facts.agent],
      ['Tool', facts.tool],
      ['State', facts.state],
      ['Outcome', facts.outcome],
      ['Error', error && `${error.code}: ${error.message}`],
      ['Progress', facts.progress],
      ['Changes things', facts.mutates ? 'yes' : 'no'],
      ['Called by', facts.parentId],
      ['Arguments', argumentsText(facts)],
      ['Digest', facts.digest],
      ['Attempts', String(facts.attempts)],
      ['Begun', new Date(facts.createdAt).toISOString()],
      ['Ended', endedAt === undefined ? undefined : new Date(endedAt).toISOString()],
      ['Kept until', facts.keepUntil === undefined ? undefined : new Date(facts.keepUntil).toISOString()],
      ['Result', result],
    ],
    out,
  )
}

function argumentsText({ arguments: masked }: OperationFacts): string | undefined {
  return (
    masked &&
    Object.entries(masked)
      .map(([name, mask]) => `${name}=${mask}`)
      .join(' ')
  )
}
