import type { Command } from 'commander'
import { MOST_APPROVALS } from '../../../contracts/index.ts'
import { didYouMean } from '../../../core/kernel/index.ts'
import { approvalsText, approvalText } from '../approval-text.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT, UsageError } from '../errors.ts'
import { toVisibleJsonText } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { urlOption } from '../url-option.ts'
import { organisationOption, type Within, withinOf } from '../workspace-options.ts'
import { registerAnswers } from './approvals-answer.ts'
import { registerWalk } from './approvals-walk.ts'
import { watchApprovals } from './approvals-watch.ts'

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

/** The same as the command above alone, for whoever looks for it under this name. */
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

async function list(
  session: Session,
  { watch, ...options }: ListOptions,
  [unknown]: readonly string[],
): Promise<number> {
  const { agent, organisation } = options
  const wanted = defined({ agent, organisation })
  if (unknown !== undefined)
    throw new UsageError(`unknown command 'approvals ${unknown}'.${didYouMean(unknown, SUBCOMMANDS)}`)
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

/** Whoever answers these sees the others. */
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
