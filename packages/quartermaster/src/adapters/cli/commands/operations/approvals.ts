import { Option } from 'commander'
import {
  type ApprovalSummary,
  type ControlEvent,
  type ControlInput,
  DEFAULT_ORGANISATION,
  MOST_APPROVALS,
  type PersonControl,
} from '../../../../contracts/index.ts'
import { command, controlCommand, printAnswer, resourceCommands } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { agentOption, organisationOption, urlOption } from '../../options.ts'
import { count } from '../../output/layout.ts'
import { escapeLine, toJsonText, toVisibleJsonText } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { answerCommands, answerEachCommand } from './answer-approvals.ts'
import { approvalLine, approvalsText, approvalText, grantsText } from './approval-text.ts'

type Filter = ControlInput<'approvals'>

const LISTING = {
  options: [
    agentOption('only those of this agent'),
    organisationOption(),
    urlOption(),
    new Option('--watch', 'go on with what is asked and answered, until Ctrl-C; with --json an object per line'),
  ],
  run: list,
}

const registerList = command({
  ...LISTING,
  name: 'list',
  description: 'List what waits, as `quartermaster approvals` does.',
  examples: [['quartermaster approvals list', 'what waits for you']],
})

const registerShow = command<{ id: string; organisation?: string }>({
  name: 'show',
  description: 'Show what a waiting call asks for and all its arguments, with invisible characters as escapes.',
  arguments: [['<ID>', 'the operation that waits, by its id', 'id']],
  options: [organisationOption(), urlOption()],
  examples: [['quartermaster approvals show op_9fGk', 'before you allow it']],
  async run(session, { id, organisation }) {
    const { out, json } = session
    const input = { id, ...(organisation !== undefined && { organisation }) }
    session.hints = { operation: id, isApproval: true }
    const facts = await session.connectAsPerson(control =>
      session.attend('Looking', options => control.approval(input, options)),
    )
    await out.write(
      json ? `${toVisibleJsonText(facts, { pretty: out.isTerminal })}\n` : approvalText(facts, session, out),
    )
    return EXIT.done
  },
})

export const registerApprovals = command({
  ...LISTING,
  name: 'approvals',
  description: 'List the calls that wait for a person to allow them, oldest first.',
  usage: '[list | show | allow | deny | answer] [options]',
  examples: [
    ['quartermaster approvals', 'what waits for you'],
    ['quartermaster approvals answer', 'one after the other, with everything about each'],
    ['quartermaster approvals --watch', 'what is asked from now on, as it comes'],
  ],
  subcommands: [registerList, registerShow, ...answerCommands, answerEachCommand],
})

async function list(session: Session, given: Filter & { watch?: boolean; url?: string }): Promise<number> {
  const { watch, url: _, ...filter } = given
  if (watch) return await watchApprovals(session, filter)
  const open = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.approvals(filter, options)),
  )
  if (open.length === 0) return printAnswer(session, open, { notice: 'Nothing waits for you.\n' })
  const next = '\nTo decide: quartermaster approvals answer, or show, allow and deny with an id\n'
  return printAnswer(session, open, {
    text: approvalsText(open, session),
    notice: `${open.length >= MOST_APPROVALS ? MORE : ''}${next}`,
  })
}

/** Once these are answered, the others are listed. */
const MORE = `\nMore than ${MOST_APPROVALS} may wait; these are the oldest of each agent. --agent lists those of one.\n`

/** Shows what waits, and then each request and each answer as it comes, until Ctrl-C or the end of the `up`. */
async function watchApprovals(session: Session, given: Filter): Promise<number> {
  const { host, notices, untilAborted, hasToken } = session
  // The owner gets the events of all organisations, and means the first where none is named. A person gets their own alone.
  const filter = hasToken ? given : { organisation: DEFAULT_ORGANISATION, ...given }
  return await session.connectAsPerson(async control => {
    if (session.from !== 'up') throw new UsageError('--watch needs a running "up", which is told of new requests.')
    const watch = createWatch(session, control, filter)
    const following = untilAborted(control.events({}, { signal: host.signal, onEvent: watch.add }))
    // Ctrl-C is the ordinary end and no failure.
    await Promise.race([following, watch.failed]).catch(error => {
      if (!host.signal.aborted) throw error
    })
    await watch.printed()
    if (!host.signal.aborted) await notices.write('The "up" has ended.\n')
    return EXIT.done
  })
}

/** Prints events one after the other, in the order in which they happened. */
function createWatch(session: Session, control: PersonControl, filter: Filter) {
  const shown = new Set<string>()
  const { promise: failed, reject: fail } = withReject()
  let printing: Promise<void> = Promise.resolve()

  async function printOpen(approvals: readonly ApprovalSummary[]): Promise<void> {
    for (const approval of approvals.filter(({ id }) => !shown.has(id))) {
      shown.add(approval.id)
      const { id, tool, createdAt: at } = approval
      const event = { name: 'approval.opened', at, id, tool, agent: approval.agent, asks: approval.asks } as const
      await printLine(session, event, `asks  ${approvalLine(approval)}`)
    }
  }

  async function print(event: ControlEvent): Promise<void> {
    if (!matches(event, filter)) return
    // Lists everything that waits, so that nothing between the listing and the events is missed.
    if (event.name === 'events.started' || event.name === 'approval.opened')
      return printOpen(await control.approvals(filter))
    // The same operation may ask again.
    if (event.name === 'approval.answered' || event.name === 'approval.closed') shown.delete(event.id)
    const line = lineOf(event)
    if (line !== undefined) await printLine(session, event, line)
  }

  return {
    add(event: ControlEvent): void {
      printing = printing.then(() => print(event)).catch(fail)
    },
    printed: () => printing,
    /** Rejects when approvals cannot be read, so that a person does not watch a screen that stays silent. */
    failed,
  }
}

function withReject(): { promise: Promise<never>; reject(error: unknown): void } {
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<never>((_, rejectIt) => {
    reject = rejectIt
  })
  return { promise, reject }
}

function matches(event: ControlEvent, { agent, organisation }: Filter): boolean {
  if (agent !== undefined && 'agent' in event && event.agent !== agent) return false
  if (organisation === undefined || !('organisation' in event)) return true
  return (event.organisation ?? DEFAULT_ORGANISATION) === organisation
}

async function printLine({ out, json }: Session, event: object, line: string): Promise<void> {
  await out.write(json ? `${toJsonText(event, { pretty: false })}\n` : `${escapeLine(line)}\n`)
}

function lineOf(event: ControlEvent): string | undefined {
  switch (event.name) {
    case 'approval.answered':
      return `${event.state}  ${event.tool} of ${event.agent}, by ${event.by.name} (${event.id})`
    case 'approval.closed':
      return `over  ${event.tool} of ${event.agent}; not answered (${event.id})`
    case 'grants.revoked':
      return `taken back  ${count(event.count, 'grant')}, by ${event.by}`
    default:
      return undefined
  }
}

export const registerGrants = resourceCommands(
  ['grants', 'Show what you have allowed and denied agents for a time, and take it back.', 'list | revoke [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List the answers that are valid now, without what the files of agents allow permanently.',
      operation: 'grants',
      forPersons: true,
      options: [
        agentOption('only those of this agent'),
        new Option('--operation <NAME>', 'only those for this consent operation'),
        new Option('--by <NAME>', 'only those that this person gave, or "owner"'),
        organisationOption(),
        urlOption(),
      ],
      examples: [
        ['quartermaster grants list', 'all that are valid'],
        ['quartermaster grants list --agent default --operation files.write', 'what one agent may do unasked'],
      ],
      answer: (found, session) =>
        found.length === 0 ? { notice: 'There are none.\n' } : { text: grantsText(found, session) },
    }),
    controlCommand({
      name: 'revoke',
      description: 'Revoke answers, at once and also for calls that wait. Ends with 1 when there was none.',
      operation: 'revokeGrants',
      forPersons: true,
      arguments: [['[ID]', 'one of them, by its id', 'id']],
      options: [
        agentOption('all of this agent'),
        new Option('--operation <NAME>', 'all for this consent operation'),
        new Option('--by <NAME>', 'all that this person gave, or "owner"'),
        organisationOption(),
        urlOption(),
      ],
      examples: [
        ['quartermaster grants revoke grant_4tRe', 'one'],
        ['quartermaster grants revoke --agent default', 'all that one agent has'],
        ['quartermaster grants revoke --by eve', 'all that one person gave'],
      ],
      input(given) {
        const { id, organisation: _, ...filter } = given
        const isFiltered = Object.keys(filter).length > 0
        if (id === undefined && !isFiltered)
          throw new UsageError('name one by its id, or say --agent, --operation or --by.')
        if (id !== undefined && isFiltered)
          throw new UsageError('an id names one already; leave --agent, --operation and --by out.')
        return given
      },
      label: 'Revoking',
      answer: (revoked, { out }) =>
        revoked.count === 0
          ? { notice: 'There is no such valid grant.\n', code: EXIT.no }
          : { text: `${out.paint.green('✓')} ${count(revoked.count, 'grant')} taken back.\n` },
    }),
  ],
)
