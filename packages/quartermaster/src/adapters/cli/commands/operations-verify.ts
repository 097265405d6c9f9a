import type { EffectFinding, OperationVerification } from '../../../contracts/index.ts'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { renderTable } from '../table.ts'
import { nextAttemptText } from '../waiting-text.ts'
import { organisationOption, type Within } from '../workspace-options.ts'

/** `operations verify`: looks at what an operation was to leave behind. */
export const registerVerify: Register = (operations, act) => {
  const verify = operations
    .command('verify')
    .description(
      'Look whether what an operation was to leave behind is there, and put it on record as done when all is.',
    )
    .argument('<ID>', 'the operation, by its id')
    .addOption(organisationOption())
    .action((id: string, within: Within) => act(session => verifyOperation(session, id, within)))
  addExamples(verify, [
    ['quartermaster operations list --state unknown', 'those of which nobody knows whether they were done'],
    ['quartermaster operations verify op_9fGk', 'what of it is there'],
  ])
}

async function verifyOperation(session: Session, id: string, within: Within): Promise<number> {
  session.hints = { operation: id }
  const found = await session.connect(control =>
    session.attend('Looking', options => control.verifyOperation(defined({ id, ...within }), options)),
  )
  if (session.json) await session.printJson(found)
  else await tell(session, found)
  return found.verdict === 'verified' ? EXIT.done : EXIT.no
}

/** What was seen is the answer, whatever it is; what it means for the operation is beside it unless all is well. */
async function tell(session: Session, found: OperationVerification): Promise<void> {
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
  indeterminate: 'nobody can tell whether all it was to leave behind is there.',
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
    return `It is still queued, and is tried again by itself, ${next}. That looks first, too.`
  }
  const still = `It is still on record as ${state}.`
  if (verdict === 'indeterminate') return `${still} Look again when the reasons above are gone.`
  return canRetry ? `${still} To have it tried again: quartermaster operations retry ${id}` : still
}
