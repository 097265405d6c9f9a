import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperationFacts, PersonControl } from '../../../contracts/index.ts'
import { answeredText, type GivenAnswer } from '../answered-text.ts'
import { approvalText } from '../approval-text.ts'
import { askYes, canAsk } from '../consent.ts'
import { defined } from '../defined.ts'
import { parseDuration, YEAR } from '../duration.ts'
import { EXIT, UsageError } from '../errors.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { urlOption } from '../url-option.ts'
import { organisationOption, type Within, withinOf } from '../workspace-options.ts'

interface AnswerOptions extends Within {
  once?: boolean
  for?: number
  always?: boolean
  yes?: boolean
}

/** `allow` and `deny`. */
export const registerAnswers: Register = (approvals, act) => {
  const allow = withLasting(
    approvals
      .command('allow')
      .alias('approve')
      .description('Allow a call that waits, once, and it is run. At a terminal it is shown first, and you are asked.')
      .argument('<ID>', 'the operation that waits, by its id'),
    'allow',
  )
    .option('--yes', 'do not show it and do not ask, as without a terminal')
    .action((id: string, _: object, command: Command) =>
      act(session => answerOne(session, id, 'allow', command.optsWithGlobals<AnswerOptions>())),
    )
  addExamples(allow, [
    ['quartermaster approvals allow op_9fGk', 'this call and no other'],
    ['quartermaster approvals allow op_9fGk --for 10m', 'for ten minutes whatever asks for the same'],
  ])
  const deny = withLasting(
    approvals
      .command('deny')
      .description('Do not allow a call that waits. Whoever called is told.')
      .argument('<ID>', 'the operation that waits, by its id'),
    'deny',
  ).action((id: string, _: object, command: Command) =>
    act(session => answerOne(session, id, 'deny', command.optsWithGlobals<AnswerOptions>())),
  )
  addExamples(deny, [
    ['quartermaster approvals deny op_9fGk', 'this call; the next one asks again'],
    ['quartermaster approvals deny op_9fGk --for 1h', 'and for an hour nobody is asked again'],
  ])
}

function withLasting(command: Command, verb: string): Command {
  return command
    .option('--once', `${verb} this call and no other (as without any of these)`)
    .addOption(
      new Option(
        '--for <DURATION>',
        `${verb} the same operations and resource for a time, such as 10m, to this agent`,
      ).argParser(toMs),
    )
    .option('--always', `${verb} them as long as the setting grantHours lets any answer last`)
    .addOption(organisationOption())
    .addOption(urlOption())
}

function toMs(text: string): number {
  const parsed = parseDuration(text, YEAR)
  if ('problem' in parsed) throw new InvalidArgumentError(parsed.problem)
  return parsed.ms
}

async function answerOne(
  session: Session,
  id: string,
  decision: GivenAnswer['decision'],
  options: AnswerOptions,
): Promise<number> {
  const answer = { ...toAnswer(decision, options), ...withinOf(options) }
  const isAsked = decision === 'allow' && options.yes !== true && canAsk(session)
  session.hints = { operation: id, isApproval: true }
  return await session.connectAsPerson(async control => {
    if (isAsked && !(await isWanted(session, control, id, answer))) {
      await session.notices.write('Nothing was allowed. It still waits.\n')
      return EXIT.no
    }
    const facts = await sendAnswer(session, control, id, answer)
    if (session.json) await session.printJson(facts)
    else await session.out.write(answeredText(facts, answer, session))
    return EXIT.done
  })
}

function toAnswer(decision: GivenAnswer['decision'], { once, for: ms, always }: AnswerOptions): GivenAnswer {
  const [one, other] = [once && '--once', ms !== undefined && '--for', always && '--always'].filter(Boolean)
  if (one && other) throw new UsageError(`${one} and ${other} contradict each other.`)
  if (ms !== undefined) return { decision, lasting: 'time', minutes: ms / 60_000 }
  return { decision, lasting: always ? 'always' : 'once' }
}

/** Shown where the question stands, whoever else reads the results. One that is over is not asked about: the answer says so. */
async function isWanted(
  session: Session,
  control: PersonControl,
  id: string,
  { lasting, ...answer }: GivenAnswer,
): Promise<boolean> {
  const facts = await session.attend('Looking', options => control.approval({ id, ...withinOf(answer) }, options))
  if (facts.state !== 'open') return true
  await session.notices.write(approvalText(facts, session, session.notices))
  return await askYes(session, QUESTIONS[lasting])
}

const QUESTIONS = { once: 'Allow once?', time: 'Allow for this time?', always: 'Allow always?' } as const

/** The answer, as the control takes it. */
export function sendAnswer(
  session: Session,
  control: PersonControl,
  id: string,
  answer: GivenAnswer,
): Promise<OperationFacts> {
  return session.attend('Answering', options => control.answerApproval(defined({ id, ...answer }), options))
}
