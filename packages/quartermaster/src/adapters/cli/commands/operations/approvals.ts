import type { Command } from 'commander'
import {
  type ApprovalSummary,
  type ControlEvent,
  type ControlInput,
  DEFAULT_ORGANISATION,
  MOST_APPROVALS,
  type PersonControl,
} from '../../../../contracts/index.ts'
import { addExamples, type Register, refuseUnknown } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined, organisationOption, urlOption, type Within, withinOf } from '../../options.ts'
import { escapeLine, toJsonText, toVisibleJsonText } from '../../output/escape.ts'
import type { Session } from '../../session.ts'
import { registerAnswers, registerWalk } from './answer-approvals.ts'
import { approvalLine, approvalsText, approvalText } from './approval-text.ts'

export const registerApprovals: Register = (program, act) => {
  const approvals = program
    .command('approvals')
    .description('List the calls that wait for a person to allow them, oldest first.')
    .usage('[list | show | allow | deny | answer] [options]')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(organisationOption())
    .addOption(urlOption())
    .option('--watch', 'go on with what is asked and answered, until Ctrl-C; with --json an object per line')
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((options: ListOptions, command: Command) => act(session => list(session, options, command.args)))
  addExamples(approvals, [
    ['quartermaster approvals', 'what waits for you'],
    ['quartermaster approvals answer', 'one after the other, with everything about each'],
    ['quartermaster approvals --watch', 'what is asked from now on, as it comes'],
  ])
  registerList(approvals, act)
  registerShow(approvals, act)
  registerAnswers(approvals, act)
  registerWalk(approvals, act)
}

/** The same as `approvals` alone, for people who look for it under this name. */
const registerList: Register = (approvals, act) => {
  const listing = approvals
    .command('list')
    .description('List what waits, as `quartermaster approvals` does.')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(organisationOption())
    .addOption(urlOption())
    .option('--watch', 'go on with what is asked and answered, until Ctrl-C')
    .action((_: object, command: Command) => act(session => list(session, command.optsWithGlobals<ListOptions>(), [])))
  addExamples(listing, [['quartermaster approvals list', 'what waits for you']])
}

const registerShow: Register = (approvals, act) => {
  const show = approvals
    .command('show')
    .description('Show what one asks for and its whole arguments, with everything that cannot be seen in them.')
    .argument('<ID>', 'the operation that waits, by its id')
    .addOption(organisationOption())
    .addOption(urlOption())
    .action((id: string, _: object, command: Command) =>
      act(session => showOne(session, id, withinOf(command.optsWithGlobals<Within>()))),
    )
  addExamples(show, [['quartermaster approvals show op_9fGk', 'before you allow it']])
}

const SUBCOMMANDS = ['list', 'show', 'allow', 'approve', 'deny', 'answer']

interface ListOptions extends Within {
  agent?: string
  watch?: boolean
}

async function list(session: Session, { watch, ...options }: ListOptions, words: readonly string[]): Promise<number> {
  const { agent, organisation } = options
  const wanted = defined({ agent, organisation })
  refuseUnknown('approvals', words, SUBCOMMANDS)
  if (watch) return await watchApprovals(session, wanted)
  const open = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.approvals(wanted, options)),
  )
  if (session.json) await session.printJson(open)
  else if (open.length === 0) await session.notices.write('Nothing waits for you.\n')
  else {
    await session.out.write(approvalsText(open, session))
    if (open.length >= MOST_APPROVALS) await session.notices.write(MORE)
    await session.notices.write('\nTo decide: quartermaster approvals answer, or show, allow and deny with an id\n')
  }
  return EXIT.done
}

/** Once these are answered, the others are listed. */
const MORE = `\nMore than ${MOST_APPROVALS} may wait; these are the oldest of each agent. --agent lists those of one.\n`

async function showOne(session: Session, id: string, within: Within): Promise<number> {
  session.hints = { operation: id, isApproval: true }
  const facts = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.approval({ id, ...within }, options)),
  )
  const { out } = session
  await out.write(
    session.json ? `${toVisibleJsonText(facts, { pretty: out.isTerminal })}\n` : approvalText(facts, session, out),
  )
  return EXIT.done
}

type Wanted = ControlInput<'approvals'>

/** Shows what waits, and then each request and each answer as it comes, until Ctrl-C or the end of the `up`. */
async function watchApprovals(session: Session, wanted: Wanted): Promise<number> {
  return await session.connectAsPerson(async control => {
    if (session.from !== 'up') throw new UsageError('--watch needs a running "up", which is told of new requests.')
    const watch = createWatch(session, control, whatCounts(session, wanted))
    // Ctrl-C is how this ends and no failure.
    await Promise.race([follow(session, control, watch.tell), watch.failed]).catch(error => {
      if (!session.host.signal.aborted) throw error
    })
    await watch.printed()
    if (!session.host.signal.aborted) await session.notices.write('The "up" has ended.\n')
    return EXIT.done
  })
}

function follow({ host, untilAborted }: Session, control: PersonControl, onEvent: (event: ControlEvent) => void) {
  return untilAborted(control.events({}, { signal: host.signal, onEvent }))
}

/** One after the other, in the order in which they happened. */
function createWatch(session: Session, control: PersonControl, wanted: Wanted) {
  const shown = new Set<string>()
  let printing: Promise<void> = Promise.resolve()
  let fail: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })

  async function open(approvals: readonly ApprovalSummary[]): Promise<void> {
    for (const approval of approvals.filter(({ id }) => !shown.has(id))) {
      shown.add(approval.id)
      const { id, tool, createdAt: at } = approval
      const event = { name: 'approval.opened', at, id, tool, agent: approval.agent, asks: approval.asks } as const
      await write(session, event, `asks  ${approvalLine(approval)}`)
    }
  }

  async function print(event: ControlEvent): Promise<void> {
    if (isOther(event, wanted)) return
    // Everything that waits by now: nothing is missed between looking and listening.
    if (event.name === 'events.started' || event.name === 'approval.opened')
      return open(await control.approvals(wanted))
    // The same operation may ask again.
    if (event.name === 'approval.answered' || event.name === 'approval.closed') shown.delete(event.id)
    const line = lineOf(event)
    if (line !== undefined) await write(session, event, line)
  }

  return {
    tell(event: ControlEvent): void {
      printing = printing.then(() => print(event)).catch(fail)
    },
    printed: () => printing,
    /** Rejects when approvals cannot be read, so that a person does not watch a screen that stays silent. */
    failed,
  }
}

/** The owner hears of all organisations, and means the first where none is named. A person hears of their own alone. */
function whatCounts({ host }: Session, wanted: Wanted): Wanted {
  const isOwner = host.io.env.QUARTERMASTER_TOKEN === undefined
  return isOwner ? { organisation: DEFAULT_ORGANISATION, ...wanted } : wanted
}

function isOther(event: ControlEvent, { agent, organisation }: Wanted): boolean {
  if (agent !== undefined && 'agent' in event && event.agent !== agent) return true
  return (
    organisation !== undefined &&
    'organisation' in event &&
    (event.organisation ?? DEFAULT_ORGANISATION) !== organisation
  )
}

async function write({ out, json }: Session, event: object, line: string): Promise<void> {
  await out.write(json ? `${toJsonText(event, { pretty: false })}\n` : `${escapeLine(line)}\n`)
}

function lineOf(event: ControlEvent): string | undefined {
  switch (event.name) {
    case 'approval.answered':
      return `${event.state}  ${event.tool} of ${event.agent}, by ${event.by.name} (${event.id})`
    case 'approval.closed':
      return `over  ${event.tool} of ${event.agent}; not answered (${event.id})`
    case 'grants.revoked':
      return `taken back  ${event.count === 1 ? '1 grant' : `${event.count} grants`}, by ${event.by}`
    default:
      return undefined
  }
}
