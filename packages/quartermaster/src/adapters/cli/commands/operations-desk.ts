import type { Control, ControlOptions, OperationFacts, OperationState } from '../../../contracts/index.ts'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { nextAttemptText } from '../waiting-text.ts'
import { againWithin, organisationOption, type Within } from '../workspace-options.ts'

/** What a person can have done about an operation: `retry`, `cancel` and `drop`. */
export const registerOperationDesk: Register = (operations, act) => {
  registerRetry(operations, act)
  registerCancel(operations, act)
  registerDrop(operations, act)
}

const registerRetry: Register = (operations, act) => {
  const retry = operations
    .command('retry')
    .description('Have an operation tried now that waits, or tried again that was given up, and wait for how it goes.')
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => retryOperation(session, defined({ id, ...within }))))
  addExamples(retry, [
    ['quartermaster operations list --dead', 'what can be tried again'],
    ['quartermaster operations retry op_9fGk', 'now, with the arguments it was called with'],
  ])
}

const registerCancel: Register = (operations, act) => {
  const cancel = operations
    .command('cancel')
    .description('Cancel an operation that waits, or tell the one that runs to stop.')
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => cancelOperation(session, defined({ id, ...within }))))
  addExamples(cancel, [['quartermaster operations cancel op_9fGk', 'it is not tried again']])
}

const registerDrop: Register = (operations, act) => {
  const drop = operations
    .command('drop')
    .description('Give up for good what could be tried again: its arguments are forgotten, its record stays.')
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => dropOperation(session, defined({ id, ...within }))))
  addExamples(drop, [['quartermaster operations drop op_9fGk', 'nobody wants it done any more']])
}

interface Which extends Within {
  id: string
}

async function retryOperation(session: Session, which: Which): Promise<number> {
  const facts = await ask(session, which, 'Trying', (control, options) => control.retryOperation(which, options))
  if (facts.state === 'succeeded') return await tell(session, facts, { ...which, line: 'is done.', code: EXIT.done })
  if (facts.state === 'queued')
    return await tell(session, facts, { ...which, line: againLine(session, facts), code: EXIT.waiting })
  return await tell(session, facts, { ...which, line: `${UNDONE[facts.state]}${why(facts)}`, code: EXIT.no })
}

async function cancelOperation(session: Session, which: Which): Promise<number> {
  const facts = await ask(session, which, 'Cancelling', (control, options) => control.cancelOperation(which, options))
  const code = facts.state === 'cancelled' ? EXIT.done : EXIT.no
  return await tell(session, facts, {
    ...which,
    line: CANCELLED[facts.state] ?? `could not be stopped any more: it is ${facts.state}.`,
    code,
  })
}

async function dropOperation(session: Session, which: Which): Promise<number> {
  const facts = await ask(session, which, 'Dropping', (control, options) => control.dropOperation(which, options))
  const line = 'is dropped: its arguments are forgotten, and it cannot be tried again.'
  return await tell(session, facts, { ...which, line, code: EXIT.done })
}

async function ask(
  session: Session,
  { id }: Which,
  label: string,
  run: (control: Control, options: ControlOptions) => Promise<OperationFacts>,
): Promise<OperationFacts> {
  session.hints = { operation: id }
  return await session.connect(control => session.attend(label, options => run(control, options)))
}

async function tell(
  session: Session,
  facts: OperationFacts,
  { organisation, line, code }: Which & { line: string; code: number },
): Promise<number> {
  const text = escapeLine(`"${facts.tool}" ${line} (${facts.id})`)
  if (session.json) await session.printJson(facts)
  else if (code === EXIT.done) await session.out.write(`${session.out.paint.green('✓')} ${text}\n`)
  else
    await session.notices.write(
      `${text}\nSee all of it: quartermaster operations show ${escapeLine(facts.id)}${againWithin(organisation)}\n`,
    )
  return code
}

function againLine(session: Session, facts: OperationFacts): string {
  const next = nextAttemptText(session, facts.nextAttemptAt)
  return `could not be done now and is tried again by itself, ${next}.${why(facts)}`
}

function why({ error }: OperationFacts): string {
  return error ? ` ${error.code}: ${error.message}` : ''
}

const UNDONE: Readonly<Record<Exclude<OperationState, 'succeeded' | 'queued'>, string>> = {
  waitingForApproval: 'waits for a person to allow it.',
  leased: 'is running.',
  failed: 'was tried and failed.',
  denied: 'was not allowed.',
  exhausted: 'was tried and given up.',
  expired: 'was given up.',
  cancelled: 'was cancelled.',
  unknown: 'was tried, and nobody knows how it ended. Look before you have it tried again.',
}

const CANCELLED: { readonly [S in OperationState]?: string } = {
  cancelled: 'is cancelled: it is not run any more.',
  unknown:
    'is not run any more, but was stopped while it ran and may have done its work. Look before you call it again.',
}
