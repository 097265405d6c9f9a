import { Option } from 'commander'
import {
  DELEGATION_PAGE,
  type DelegationDetail,
  type DelegationPage,
  DelegationState,
} from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { cursorOption, nextPage, organisationOption, wholeNumber } from '../../options.ts'
import { barred, escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { agoText, isoTime } from '../../output/units.ts'
import type { Session } from '../../session.ts'

const hints = () => ({ listing: ['delegations', 'list'] })

export const registerDelegations = resourceCommands(
  ['delegations', 'Show the tasks that workspaces gave each other, and cancel them.', 'list | show | cancel [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List tasks, newest first.',
      operation: 'delegations',
      options: [
        new Option('--workspace <WORKSPACE>', 'only those that it gave or was given, by its id or name'),
        new Option('--role <ROLE>', 'with --workspace: those it gave, or those it was given').choices([
          'asker',
          'peer',
        ]),
        new Option('--state <STATE>', 'only those').choices(DelegationState.options),
        new Option('--limit <NUMBER>', `at most this many, up to ${DELEGATION_PAGE.most}`)
          .default(20)
          .argParser(wholeNumber(1, DELEGATION_PAGE.most)),
        cursorOption(),
        organisationOption(),
      ],
      examples: [
        ['quartermaster delegations list', 'all of them, newest first'],
        ['quartermaster delegations list --workspace researcher --role peer --state in_progress', 'what it works on'],
      ],
      answer: (page, session) =>
        page.delegations.length === 0
          ? { notice: 'There are no such tasks.\n' }
          : { text: listText(page, session), notice: nextPage(page.nextCursor ?? undefined) },
    }),
    controlCommand({
      name: 'show',
      description: 'Show a task: who gave it to whom, where it is, and what came of it.',
      operation: 'delegation',
      arguments: [['<ID>', 'the task', 'id']],
      options: [
        new Option('--offset <NUMBER>', 'from which character of a long result on').argParser(
          wholeNumber(0, Number.MAX_SAFE_INTEGER),
        ),
        organisationOption(),
      ],
      examples: [['quartermaster delegations show task_5kQw', 'the task and its result']],
      hints,
      answer: found => {
        const next = found.result?.nextOffset ?? null
        return { text: detailText(found), notice: next === null ? '' : `The result goes on: --offset ${next}\n` }
      },
    }),
    controlCommand({
      name: 'cancel',
      description: 'Cancel a task that is not over. Both workspaces are told.',
      operation: 'cancelDelegation',
      arguments: [['<ID>', 'the task', 'id']],
      options: [organisationOption()],
      examples: [['quartermaster delegations cancel task_5kQw', 'answers to it are refused from then on']],
      label: 'Cancelling',
      hints,
      answer: ({ id }, session) => ({ text: doneLine(session, `${id} is cancelled.`) }),
    }),
  ],
)

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
    cells: [id, state, from.name, to.name, agoText(createdAt, now), error ?? progress?.text ?? ''],
  }))
  return renderTable({ columns, rows }, out)
}

/** Every line of quoted text has a bar before it. */
function detailText({ id, state, from, to, task, result, ...facts }: DelegationDetail): string {
  const { progress, error, createdAt, startedAt, endedAt, deadlineAt, parentId } = facts
  const said = result?.text ?? progress?.text
  const lines = [
    `${id} (${state})`,
    `given by ${from.name} to ${to.name} on ${isoTime(createdAt)}`,
    ...(parentId === null ? [] : [`for the task ${parentId}`]),
    ...(startedAt === null ? [] : [`taken on ${isoTime(startedAt)}`]),
    endedAt === null ? `expires on ${isoTime(deadlineAt)}` : `ended on ${isoTime(endedAt)}`,
    ...(error === null || result ? [] : [error]),
    'the task:',
    ...barred(task),
    ...(said === undefined ? [] : [`what ${to.name} said:`, ...barred(said)]),
  ]
  return `${lines.map(escapeLine).join('\n')}\n`
}
