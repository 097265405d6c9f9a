import { Option } from 'commander'
import {
  type EffectFinding,
  type OperationFacts,
  OperationState,
  type OperationVerification,
} from '../../../../contracts/index.ts'
import { type Answer, controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import {
  agentOption,
  cursorOption,
  limitOption,
  nextPage,
  organisationFlag,
  organisationOption,
} from '../../options.ts'
import { detail } from '../../output/error-text.ts'
import { count, renderTable } from '../../output/layout.ts'
import { resultText, shownHead } from '../../output/result-text.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeLine, toJsonText } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { nextAttemptText, operationsText, operationText } from './operation-text.ts'

/** The arguments and options of a command about one operation. */
const ONE = {
  arguments: [['<ID>', 'the operation, by its id', 'id']],
  options: [organisationOption()],
  hints: ({ id }: { id: string }) => ({ operation: id }),
} as const

export const registerOperations = resourceCommands(
  [
    'operations',
    'Show calls that may have changed something, wait or have expired, and tasks; retry them.',
    'list | show | retry | cancel | drop | verify [options]',
  ],
  [
    controlCommand({
      name: 'list',
      description: 'List operations, newest first.',
      operation: 'operations',
      options: [
        agentOption('only those of this agent'),
        new Option('--state <STATE>', 'only those in this state').choices(OperationState.options),
        new Option(
          '--dead',
          'only those that expired, ran out of attempts or have an unknown outcome, and that can be retried',
        ),
        limitOption().default(50),
        cursorOption(),
        organisationOption(),
      ],
      examples: [
        ['quartermaster operations list', 'the last fifty'],
        ['quartermaster operations list --agent default --state unknown', 'what one agent has to check'],
        ['quartermaster operations list --dead', 'what can be tried again, or dropped'],
      ],
      input: ({ dead, ...filter }) => ({ ...filter, canRetry: dead }),
      answer: ({ operations, nextCursor }, session) =>
        operations.length === 0
          ? { notice: 'There are none.\n' }
          : { text: operationsText(operations, session), notice: nextPage(nextCursor) },
    }),
    controlCommand({
      ...ONE,
      name: 'show',
      description: 'Show everything about one operation.',
      operation: 'operation',
      examples: [['quartermaster operations show op_9fGk', 'how it ended, and why']],
      answer: (facts, { out }, { organisation }) => showAnswer(facts, organisation, out),
    }),
    controlCommand({
      ...ONE,
      name: 'retry',
      description: 'Retry an operation now that waits, expired or ran out of attempts, and wait for the outcome.',
      operation: 'retryOperation',
      examples: [
        ['quartermaster operations list --dead', 'what can be tried again'],
        ['quartermaster operations retry op_9fGk', 'now, with the arguments it was called with'],
      ],
      label: 'Trying',
      answer(facts, session, { organisation }) {
        const { state, nextAttemptAt } = facts
        if (state === 'succeeded') return changed(session, facts, organisation, EXIT.done, 'is done.')
        const next = nextAttemptText(session, nextAttemptAt)
        if (state === 'queued')
          return changed(
            session,
            facts,
            organisation,
            EXIT.waiting,
            `could not be done now and is retried automatically, ${next}.${errorOf(facts)}`,
          )
        return changed(session, facts, organisation, EXIT.no, `${notDone(facts)}${errorOf(facts)}`)
      },
    }),
    controlCommand({
      ...ONE,
      name: 'cancel',
      description: 'Cancel an operation that waits, or ask a running one to stop.',
      operation: 'cancelOperation',
      examples: [['quartermaster operations cancel op_9fGk', 'it is not tried again']],
      label: 'Cancelling',
      answer(facts, session, { organisation }) {
        const line = CANCELLED[facts.state] ?? `could not be stopped any more: it is ${facts.state}.`
        return changed(session, facts, organisation, facts.state === 'cancelled' ? EXIT.done : EXIT.no, line)
      },
    }),
    controlCommand({
      ...ONE,
      name: 'drop',
      description: 'Give up an operation permanently: its arguments are deleted, its record stays.',
      operation: 'dropOperation',
      examples: [['quartermaster operations drop op_9fGk', 'it is not needed any more']],
      label: 'Dropping',
      answer: (facts, session, { organisation }) =>
        changed(
          session,
          facts,
          organisation,
          EXIT.done,
          'is dropped: its arguments are forgotten, and it cannot be tried again.',
        ),
    }),
    controlCommand({
      ...ONE,
      name: 'verify',
      description: 'Check whether the effects of an operation are there, and record it as done when all are.',
      operation: 'verifyOperation',
      examples: [
        ['quartermaster operations list --state unknown', 'those whose outcome is unknown'],
        ['quartermaster operations verify op_9fGk', 'what of it is there'],
      ],
      answer: (found, session) => verificationAnswer(found, session),
    }),
  ],
)

function showAnswer(facts: OperationFacts, organisation: string | undefined, out: Printer): Answer {
  const given = resultOf(facts)
  const shown = given === undefined ? undefined : shownHead(given, out)
  const text = operationText(facts, shown?.text, out)
  if (shown?.cutAt === undefined) return { text }
  const what = facts.result ? 'The result' : 'What it said'
  const again = `quartermaster operations show ${escapeLine(facts.id)}${organisationFlag(organisation)}`
  const notice = `${what} is cut at ${shown.cutAt}. To see all of it: ${again} --json, or into a file or a pager.\n`
  return { text, notice }
}

/** The result, or the content of an error that holds one. */
function resultOf({ result, error }: OperationFacts): string | undefined {
  if (result) return toJsonText(result, { pretty: false })
  const content = error ? detail(error, 'content') : []
  return content.length === 0 ? undefined : resultText({ content })
}

function changed(
  session: Session,
  { tool, id }: OperationFacts,
  organisation: string | undefined,
  code: number,
  line: string,
): Answer {
  const text = `"${tool}" ${line} (${id})`
  if (code === EXIT.done) return { text: doneLine(session, text), code }
  const show = `quartermaster operations show ${escapeLine(id)}${organisationFlag(organisation)}`
  return { notice: `${escapeLine(text)}\nSee all of it: ${show}\n`, code }
}

function errorOf({ error }: OperationFacts): string {
  return error ? ` ${error.code}: ${error.message}` : ''
}

function notDone({ state, attempts }: OperationFacts): string {
  return state === 'exhausted' ? `failed after ${count(attempts, 'attempt')}.` : (NOT_DONE[state] ?? '')
}

const NOT_DONE: { readonly [S in OperationState]?: string } = {
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
    'is not run any more, but was stopped while it ran and may have done its work. Check before you call it again.',
}

const VERDICTS: Readonly<Record<OperationVerification['verdict'], string>> = {
  verified: 'all its effects are there.',
  partial: 'only some of its effects are there.',
  absent: 'none of its effects is there.',
  indeterminate: 'it cannot be determined whether all its effects are there.',
}

/** The findings are the answer; what they mean for the operation is a notice, unless all effects are there. */
function verificationAnswer(found: OperationVerification, session: Session): Answer {
  const { operation, verdict } = found
  const text = escapeLine(`"${operation.tool}": ${VERDICTS[verdict]} (${operation.id})`)
  const state = `${escapeLine(stateAfter(session, found))}\n`
  const findings = findingsText(found, session.out)
  if (verdict !== 'verified') return { text: findings, notice: `${text}\n${state}`, code: EXIT.no }
  return { text: `${findings}${session.out.paint.green('✓')} ${text}\n${state}` }
}

const FINDING_STYLES = {
  verified: 'green',
  absent: 'red',
  indeterminate: 'yellow',
} as const satisfies Record<EffectFinding['state'], 'green' | 'red' | 'yellow'>

function findingsText({ effects, operation }: OperationVerification, out: Printer): string {
  const kinds = new Map(operation.effects?.map(({ name, kind }) => [name, kind]))
  const rows = effects.map(({ name, state, reason }) => {
    return [name, kinds.get(name) ?? '', { text: state, style: out.paint[FINDING_STYLES[state]] }, reason]
  })
  return renderTable(['Effect', 'Kind', 'Found', { wraps: 'Why' }], rows, out)
}

/** What is on record now, and what can be done. */
function stateAfter(session: Session, { verdict, changedFrom, operation }: OperationVerification): string {
  const { id, state, canRetry, nextAttemptAt } = operation
  if (changedFrom !== undefined) return `It was ${changedFrom}, and is on record as ${state} now.`
  if (state === 'queued') {
    const next = nextAttemptText(session, nextAttemptAt)
    return `It is still queued, and is retried automatically, ${next}. The retry checks first, too.`
  }
  const still = `It is still on record as ${state}.`
  if (verdict === 'indeterminate') return `${still} Check again when the reasons above are gone.`
  return canRetry ? `${still} To have it tried again: quartermaster operations retry ${id}` : still
}
