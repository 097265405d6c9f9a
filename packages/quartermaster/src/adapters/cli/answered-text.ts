import type { ControlInput, OperationFacts } from '../../contracts/index.ts'
import { inWords } from './duration.ts'
import { escapeLine } from './escape.ts'
import type { Session } from './session.ts'

export type GivenAnswer = Omit<ControlInput<'answerApproval'>, 'id'>

/** What became of a call that was answered. */
export function answeredText(facts: OperationFacts, answer: GivenAnswer, { out, from }: Session): string {
  const { id, tool, agent } = facts
  const isAllowed = answer.decision === 'allow'
  const mark = isAllowed ? out.paint.green('✓') : out.paint.red('✗')
  const word = isAllowed ? 'allowed' : 'denied'
  const next = isAllowed ? ` ${runText(facts, from)}` : doneText(facts)
  return `${mark} ${escapeLine(`"${tool}" of ${agent} is ${word}, ${lastingText(answer)}.${next} (${id})`)}\n`
}

function lastingText({ lasting, minutes = 0 }: GivenAnswer): string {
  if (lasting === 'time') return `and what is like it for ${inWords(minutes * 60_000)}`
  return lasting === 'always' ? 'and what is like it for as long as an answer counts' : 'this once'
}

/** A no undoes nothing. */
function doneText({ id, state }: OperationFacts): string {
  if (state === 'succeeded') return ' An earlier run had done it already.'
  return state === 'unknown' ? ` An earlier run may have done it: quartermaster operations verify ${id}.` : ''
}

/** Where no `up` runs, the command itself has run it. */
function runText({ state, error }: OperationFacts, from: Session['from']): string {
  if (state === 'succeeded') return 'It is done.'
  if (from !== 'process') return 'It is run now.'
  if (state === 'queued') return 'It could not be done now and is tried again once an `up` runs.'
  return `It was run, and is ${state}.${error ? ` ${error.code}: ${error.message}` : ''}`
}
