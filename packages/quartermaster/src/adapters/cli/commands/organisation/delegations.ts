import { Option } from 'commander'
import { DELEGATION_PAGE, type DelegationDetail, DelegationState } from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { cursorOption, limitOption, nextPage, offsetOption, organisationOption } from '../../options.ts'
import { renderTable } from '../../output/layout.ts'
import { barred, escapeLine } from '../../output/terminal.ts'
import { agoText, isoTime } from '../../output/units.ts'

const hints = () => ({ listing: ['delegations', 'list'] })

export const registerDelegations = resourceCommands(
  ['delegations', 'Show the tasks that workspaces gave each other, and cancel them.', 'list | show | cancel [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List tasks, newest first.',
      operation: 'delegations',
      options: [
        new Option('--workspace <WORKSPACE>', 'only those that this one gave or was given, by its id or name'),
        new Option('--role <ROLE>', 'with --workspace: those it gave, or those it was given').choices([
          'asker',
          'peer',
        ]),
        new Option('--state <STATE>', 'only those').choices(DelegationState.options),
        limitOption(DELEGATION_PAGE.most).default(20),
        cursorOption(),
        organisationOption(),
      ],
      examples: [
        ['quartermaster delegations list', 'all of them, newest first'],
        ['quartermaster delegations list --workspace researcher --role peer --state in_progress', 'what it works on'],
      ],
      answer({ delegations, nextCursor }, { host, out }) {
        if (delegations.length === 0) return { notice: 'There are no such tasks.\n' }
        const now = host.clock.now()
        const rows = delegations.map(({ id, state, from, to, createdAt, error, progress }) => {
          return [id, state, from.name, to.name, agoText(createdAt, now), error ?? progress?.text ?? '']
        })
        const columns = ['Id', 'State', 'From', 'To', 'Made', { wraps: 'Said last' }]
        return { text: renderTable(columns, rows, out), notice: nextPage(nextCursor) }
      },
    }),
    controlCommand({
      name: 'show',
      description: 'Show a task: who gave it to whom, its state and its result.',
      operation: 'delegation',
      arguments: [['<ID>', 'the task', 'id']],
      options: [offsetOption('from which character of a long result on'), organisationOption()],
      examples: [['quartermaster delegations show task_5kQw', 'the task and its result']],
      hints,
      answer: found => {
        const next = found.result?.nextOffset ?? null
        return { text: detailText(found), notice: next === null ? '' : `The result goes on: --offset ${next}\n` }
      },
    }),
    controlCommand({
      name: 'cancel',
      description: 'Cancel a task that has not ended. Both workspaces are notified.',
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
