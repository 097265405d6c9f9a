import { Option } from 'commander'
import {
  type ControlInput,
  DELEGATION_PAGE,
  type DelegationDetail,
  type DelegationPage,
  DelegationState,
} from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { cursorOption, defined, nextPage, organisationOption, wholeNumber } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerDelegations: Register = (program, act) => {
  const delegations = program
    .command('delegations')
    .description('Show the tasks that workspaces gave each other, and cancel them.')
    .usage('list | show | cancel [options]')
  registerList(delegations, act)
  registerShow(delegations, act)
  registerCancel(delegations, act)
}

const registerList: Register = (delegations, act) => {
  const list = delegations
    .command('list')
    .description('List tasks, newest first.')
    .option('--workspace <WORKSPACE>', 'only those that it gave or was given, by its id or name')
    .addOption(
      new Option('--role <ROLE>', 'with --workspace: those it gave, or those it was given').choices(['asker', 'peer']),
    )
    .addOption(new Option('--state <STATE>', 'only those').choices(DelegationState.options))
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(organisationOption())
    .action((options: ListOptions) => act(session => listDelegations(session, defined({ ...options }))))
  addExamples(list, [
    ['quartermaster delegations list', 'all of them, newest first'],
    ['quartermaster delegations list --workspace researcher --role peer --state in_progress', 'what it works on'],
  ])
}

const registerShow: Register = (delegations, act) => {
  const show = delegations
    .command('show')
    .description('Show a task: who gave it to whom, where it is, and what came of it.')
    .argument('<ID>', 'the task')
    .addOption(
      new Option('--offset <NUMBER>', 'from which character of a long result on').argParser(
        wholeNumber(0, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(organisationOption())
    .action((id: string, options: ShowOptions) => act(session => showDelegation(session, defined({ id, ...options }))))
  addExamples(show, [['quartermaster delegations show task_5kQw', 'the task and its result']])
}

const registerCancel: Register = (delegations, act) => {
  const cancel = delegations
    .command('cancel')
    .description('Cancel a task that is not over. Both workspaces are told.')
    .argument('<ID>', 'the task')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => cancelDelegation(session, defined({ id, ...options }))))
  addExamples(cancel, [['quartermaster delegations cancel task_5kQw', 'answers to it are refused from then on']])
}

interface Within {
  organisation?: string
}

interface ListOptions extends Within {
  workspace?: string
  role?: 'asker' | 'peer'
  state?: DelegationState
  limit?: number
  cursor?: string
}

interface ShowOptions extends Within {
  offset?: number
}

function limitOption(): Option {
  const { most } = DELEGATION_PAGE
  return new Option('--limit <NUMBER>', `at most this many, up to ${most}`).default(20).argParser(wholeNumber(1, most))
}

async function listDelegations(session: Session, input: ControlInput<'delegations'>): Promise<number> {
  const page = await session.connect(control => session.attend('Looking', on => control.delegations(input, on)))
  if (session.json) await session.printJson(page)
  else if (page.delegations.length === 0) await session.notices.write('There are no such tasks.\n')
  else {
    await session.out.write(listText(page, session))
    await session.notices.write(nextPage(page.nextCursor ?? undefined))
  }
  return EXIT.done
}

function listText({ delegations }: DelegationPage, { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'State' },
    { title: 'From' },
    { title: 'To' },
    { title: 'Made' },
    { title: 'Said last', flexible: true },
  ]
  const rows = delegations.map(({ id, state, from, to, createdAt, error, progress }) => ({
    cells: [
      id,
      state,
      from.name,
      to.name,
      `${inWords(Math.max(0, now - createdAt))} ago`,
      error ?? progress?.text ?? '',
    ],
  }))
  return renderTable({ columns, rows }, out)
}

async function showDelegation(session: Session, input: ControlInput<'delegation'>): Promise<number> {
  session.hints = { listing: ['delegations', 'list'] }
  const found = await session.connect(control => session.attend('Looking', on => control.delegation(input, on)))
  if (session.json) await session.printJson(found)
  else {
    await session.out.write(delegationText(found))
    const next = found.result?.nextOffset ?? null
    if (next !== null) await session.notices.write(`The result goes on: --offset ${next}\n`)
  }
  return EXIT.done
}

/** Every line of quoted text has a bar before it. */
function delegationText({ id, state, from, to, task, result, ...facts }: DelegationDetail): string {
  const { progress, error, createdAt, startedAt, endedAt, deadlineAt, parentId } = facts
  const said = result?.text ?? progress?.text
  const lines = [
    `${id} (${state})`,
    `given by ${from.name} to ${to.name} on ${timeOf(createdAt)}`,
    ...(parentId === null ? [] : [`for the task ${parentId}`]),
    ...(startedAt === null ? [] : [`taken on ${timeOf(startedAt)}`]),
    endedAt === null ? `expires on ${timeOf(deadlineAt)}` : `ended on ${timeOf(endedAt)}`,
    ...(error === null || result ? [] : [error]),
    'the task:',
    ...barred(task),
    ...(said === undefined ? [] : [`what ${to.name} said:`, ...barred(said)]),
  ]
  return `${lines.map(escapeLine).join('\n')}\n`
}

function barred(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map(line => `| ${line}`)
}

const timeOf = (ms: number) => new Date(ms).toISOString()

async function cancelDelegation(session: Session, input: ControlInput<'cancelDelegation'>): Promise<number> {
  session.hints = { listing: ['delegations', 'list'] }
  const done = await session.connect(control => session.attend('Cancelling', on => control.cancelDelegation(input, on)))
  if (session.json) await session.printJson(done)
  else await session.out.write(`${session.out.paint.green('✓')} ${escapeLine(`${done.id} is cancelled.`)}\n`)
  return EXIT.done
}
