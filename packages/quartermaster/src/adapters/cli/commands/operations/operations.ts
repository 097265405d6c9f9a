import { Option } from 'commander'
import {
  type EffectFinding,
  type OperationFacts,
  OperationState,
  type OperationVerification,
} from '../../../../contracts/index.ts'
import { type Answer, addExamples, controlCommand, doneLine, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT } from '../../errors.ts'
import {
  againWithin,
  cursorOption,
  defined,
  limitOption,
  nextPage,
  organisationOption,
  type Within,
} from '../../options.ts'
import { detail } from '../../output/error-text.ts'
import { escapeLine, toJsonText } from '../../output/escape.ts'
import { count, renderTable } from '../../output/layout.ts'
import type { Printer } from '../../output/printer.ts'
import { resultText, shownHead } from '../../output/result-text.ts'
import type { Session } from '../../session.ts'
import { nextAttemptText, operationsText, operationText } from './operation-text.ts'

export const registerOperations: Register = (program, act) => {
  const operations = program
    .command('operations')
    .description('Show calls that may have changed something, wait or have expired, and tasks; retry them.')
    .usage('list | show | retry | cancel | drop | verify [options]')
  registerList(operations, act)
  registerShow(operations, act)
  registerRetry(operations, act)
  registerCancel(operations, act)
  registerDrop(operations, act)
  registerVerify(operations, act)
}

interface ListOptions extends Within {
  agent?: string
  state?: OperationState
  dead?: boolean
  limit?: number
  cursor?: string
}

const registerList: Register = (operations, act) => {
  const list = operations
    .command('list')
    .description('List operations, newest first.')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(new Option('--state <STATE>', 'only those in this state').choices(OperationState.options))
    .option(
      '--dead',
      'only those that expired, ran out of attempts or have an unknown outcome, and that can be retried',
    )
    .addOption(limitOption())
    .addOption(cursorOption())
    .addOption(organisationOption())
    .action((options: ListOptions) => act(session => listOperations(session, options)))
  addExamples(list, [
    ['quartermaster operations list', 'the last fifty'],
    ['quartermaster operations list --agent default --state unknown', 'what one agent has to look after'],
    ['quartermaster operations list --dead', 'what can be tried again, or dropped'],
  ])
}

const registerShow: Register = (operations, act) => {
  const show = operations
    .command('show')
    .description('Show everything about one operation.')
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => showOperation(session, id, within)))
  addExamples(show, [['quartermaster operations show op_9fGk', 'how it ended, and why']])
}

async function listOperations(session: Session, { dead, ...options }: ListOptions): Promise<number> {
  const filter = defined({ ...options, ...(dead ? { canRetry: true as const } : {}) })
  const page = await session.connect(control =>
    session.attend('Looking', options => control.operations(filter, options)),
  )
  if (session.json) await session.printJson(page)
  else if (page.operations.length === 0) await session.notices.write('There are none.\n')
  else {
    await session.out.write(operationsText(page.operations, session))
    await session.notices.write(nextPage(page.nextCursor))
  }
  return EXIT.done
}

async function showOperation(session: Session, id: string, within: Within): Promise<number> {
  session.hints = { operation: id }
  const facts = await session.connect(control =>
    session.attend('Looking', options => control.operation(defined({ id, ...within }), options)),
  )
  if (session.json) await session.printJson(facts)
  else await printFacts(session, facts, within)
  return EXIT.done
}

async function printFacts({ out, notices }: Session, facts: OperationFacts, within: Within): Promise<void> {
  const given = givenIn(facts)
  const shown = given === undefined ? undefined : shownHead(given, out)
  await out.write(operationText(facts, shown?.text, out))
  if (shown?.cutAt === undefined) return
  const what = facts.result ? 'The result' : 'What it said'
  const which = escapeLine(`${facts.id}${againWithin(within.organisation)}`)
  await notices.write(
    `${what} is cut at ${shown.cutAt}. To see all of it: quartermaster operations show ${which} --json, or into a file or a pager.\n`,
  )
}

function givenIn({ result, error }: OperationFacts): string | undefined {
  if (result) return toJsonText(result, { pretty: false })
  const content = error ? detail(error, 'content') : []
  return content.length === 0 ? undefined : resultText({ content })
}

const ONE = [['<ID>', 'the operation, by its id', 'id']] as const
const hints = (operation: string) => ({ operation })

const registerRetry = controlCommand({
  name: 'retry',
  description: 'Retry an operation now that waits, expired or ran out of attempts, and wait for the outcome.',
  operation: 'retryOperation',
  arguments: ONE,
  options: [organisationOption()],
  examples: [
    ['quartermaster operations list --dead', 'what can be tried again'],
    ['quartermaster operations retry op_9fGk', 'now, with the arguments it was called with'],
  ],
  label: 'Trying',
  hints,
  answer(facts, session, { organisation }) {
    if (facts.state === 'succeeded') return changed(session, facts, { organisation, line: 'is done.', code: EXIT.done })
    if (facts.state === 'queued')
      return changed(session, facts, { organisation, line: againLine(session, facts), code: EXIT.waiting })
    return changed(session, facts, { organisation, line: `${undone(facts)}${why(facts)}`, code: EXIT.no })
  },
})

const registerCancel = controlCommand({
  name: 'cancel',
  description: 'Cancel an operation that waits, or tell the one that runs to stop.',
  operation: 'cancelOperation',
  arguments: ONE,
  options: [organisationOption()],
  examples: [['quartermaster operations cancel op_9fGk', 'it is not tried again']],
  label: 'Cancelling',
  hints,
  answer: (facts, session, { organisation }) =>
    changed(session, facts, {
      organisation,
      line: CANCELLED[facts.state] ?? `could not be stopped any more: it is ${facts.state}.`,
      code: facts.state === 'cancelled' ? EXIT.done : EXIT.no,
    }),
})

const registerDrop = controlCommand({
  name: 'drop',
  description: 'Give up an operation permanently: its arguments are deleted, its record stays.',
  operation: 'dropOperation',
  arguments: ONE,
  options: [organisationOption()],
  examples: [['quartermaster operations drop op_9fGk', 'it is not needed any more']],
  label: 'Dropping',
  hints,
  answer: (facts, session, { organisation }) =>
    changed(session, facts, {
      organisation,
      line: 'is dropped: its arguments are forgotten, and it cannot be tried again.',
      code: EXIT.done,
    }),
})

interface Changed extends Within {
  readonly line: string
  readonly code: number
}

function changed(session: Session, { tool, id }: OperationFacts, { organisation, line, code }: Changed): Answer {
  const text = `"${tool}" ${line} (${id})`
  if (code === EXIT.done) return { text: doneLine(session, text), code }
  const show = `quartermaster operations show ${escapeLine(id)}${againWithin(organisation)}`
  return { notice: `${escapeLine(text)}\nSee all of it: ${show}\n`, code }
}

function againLine(session: Session, facts: OperationFacts): string {
  const next = nextAttemptText(session, facts.nextAttemptAt)
  return `could not be done now and is retried automatically, ${next}.${why(facts)}`
}

function why({ error }: OperationFacts): string {
  return error ? ` ${error.code}: ${error.message}` : ''
}

function undone({ state, attempts }: OperationFacts): string {
  return state === 'exhausted' ? `failed after ${count(attempts, 'attempt')}.` : (UNDONE[state] ?? '')
}

const UNDONE: { readonly [S in OperationState]?: string } = {
  waitingForApproval: 'waits for a person to allow it.',
  leased: 'is running.',
  failed: 'was tried and failed.',
  denied: 'was not allowed.',
  expired: 'expired.',
  cancelled: 'was cancelled.',
  unknown: 'was tried, and its outcome is unknown. Check before you retry it.',
}

const CANCELLED: { readonly [S in OperationState]?: string } = {
  cancelled: 'is cancelled: it is not run any more.',
  unknown:
    'is not run any more, but was stopped while it ran and may have done its work. Look before you call it again.',
}

/** `operations verify`: looks at what an operation was to leave behind. */
const registerVerify: Register = (operations, act) => {
  const verify = operations
    .command('verify')
    .description(
      'Look whether what an operation was to leave behind is there, and put it on record as done when all is.',
    )
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => verifyOperation(session, id, within)))
  addExamples(verify, [
    ['quartermaster operations list --state unknown', 'those whose outcome is unknown'],
    ['quartermaster operations verify op_9fGk', 'what of it is there'],
  ])
}

async function verifyOperation(session: Session, id: string, within: Within): Promise<number> {
  session.hints = { operation: id }
  const found = await session.connect(control =>
    session.attend('Looking', options => control.verifyOperation(defined({ id, ...within }), options)),
  )
  if (session.json) await session.printJson(found)
  else await printVerification(session, found)
  return found.verdict === 'verified' ? EXIT.done : EXIT.no
}

/** What was seen is the answer, whatever it is; what it means for the operation is beside it unless all is well. */
async function printVerification(session: Session, found: OperationVerification): Promise<void> {
  const { operation, verdict } = found
  const text = escapeLine(`"${operation.tool}": ${VERDICTS[verdict]} (${operation.id})`)
  await session.out.write(findingsText(found, session.out))
  if (verdict === 'verified')
    await session.out.write(`${session.out.paint.green('✓')} ${text}\n${escapeLine(became(session, found))}\n`)
  else await session.notices.write(`${text}\n${escapeLine(became(session, found))}\n`)
}

const VERDICTS: Readonly<Record<OperationVerification['verdict'], string>> = {
  verified: 'all it was to leave behind is there.',
  partial: 'only a part of what it was to leave behind is there.',
  absent: 'nothing of what it was to leave behind is there.',
  indeterminate: 'it cannot be determined whether all it was to leave behind is there.',
}

function findingsText({ effects, operation }: OperationVerification, out: Printer): string {
  const columns = [{ title: 'Effect' }, { title: 'Kind' }, { title: 'Found' }, { title: 'Why', flexible: true }]
  const kinds = new Map(operation.effects?.map(({ name, kind }) => [name, kind]))
  const rows = effects.map(({ name, state, reason }) => ({
    cells: [name, kinds.get(name) ?? '', { text: state, style: out.paint[STYLES[state]] }, reason],
  }))
  return renderTable({ columns, rows }, out)
}

const STYLES = {
  verified: 'green',
  absent: 'red',
  indeterminate: 'yellow',
} as const satisfies Record<EffectFinding['state'], 'green' | 'red' | 'yellow'>

/** What is on record now, and what can be done. */
function became(session: Session, { verdict, changedFrom, operation }: OperationVerification): string {
  const { id, state, canRetry, nextAttemptAt } = operation
  if (changedFrom !== undefined) return `It was ${changedFrom}, and is on record as ${state} now.`
  if (state === 'queued') {
    const next = nextAttemptText(session, nextAttemptAt)
    return `It is still queued, and is retried automatically, ${next}. That looks first, too.`
  }
  const still = `It is still on record as ${state}.`
  if (verdict === 'indeterminate') return `${still} Look again when the reasons above are gone.`
  return canRetry ? `${still} To have it tried again: quartermaster operations retry ${id}` : still
}
