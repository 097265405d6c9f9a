import type { Command } from 'commander'
import { didYouMean } from '../../../core/kernel/index.ts'
import { approvalsText, approvalText } from '../approval-text.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT, UsageError } from '../errors.ts'
import { toVisibleJsonText } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { urlOption } from '../url-option.ts'
import { registerAnswers } from './approvals-answer.ts'
import { registerWalk } from './approvals-walk.ts'

export const registerApprovals: Register = (program, act) => {
  const approvals = program
    .command('approvals')
    .description('List the calls that wait for a person to allow them, oldest first.')
    .usage('[show | allow | deny | answer] [options]')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(urlOption())
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((options: { agent?: string }, command: Command) => act(session => list(session, options, command.args)))
  addExamples(approvals, [
    ['quartermaster approvals', 'what waits for you'],
    ['quartermaster approvals answer', 'one after the other, with everything about each'],
  ])
  registerShow(approvals, act)
  registerAnswers(approvals, act)
  registerWalk(approvals, act)
}

const registerShow: Register = (approvals, act) => {
  const show = approvals
    .command('show')
    .description('Show what one asks for and its whole arguments, with everything that cannot be seen in them.')
    .argument('<ID>', 'the operation that waits, by its id')
    .addOption(urlOption())
    .action((id: string) => act(session => showOne(session, id)))
  addExamples(show, [['quartermaster approvals show op_9fGk', 'before you allow it']])
}

const SUBCOMMANDS = ['show', 'allow', 'deny', 'answer']

async function list(session: Session, { agent }: { agent?: string }, [unknown]: readonly string[]): Promise<number> {
  if (unknown !== undefined)
    throw new UsageError(`unknown command 'approvals ${unknown}'.${didYouMean(unknown, SUBCOMMANDS)}`)
  const open = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.approvals(defined({ agent }), options)),
  )
  if (session.json) await session.printJson(open)
  else if (open.length === 0) await session.notices.write('Nothing waits for you.\n')
  else {
    await session.out.write(approvalsText(open, session))
    await session.notices.write('\nTo decide: quartermaster approvals answer, or show, allow and deny with an id\n')
  }
  return EXIT.done
}

async function showOne(session: Session, id: string): Promise<number> {
  session.hints = { operation: id, isApproval: true }
  const facts = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.approval({ id }, options)),
  )
  const { out } = session
  await out.write(
    session.json ? `${toVisibleJsonText(facts, { pretty: out.isTerminal })}\n` : approvalText(facts, session, out),
  )
  return EXIT.done
}
