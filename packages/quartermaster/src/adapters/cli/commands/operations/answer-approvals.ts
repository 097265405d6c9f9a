import { type Command, Option } from 'commander'
import {
  type ApprovalFacts,
  type ApprovalSummary,
  type ControlInput,
  isAppError,
  type OperationFacts,
  type PersonControl,
} from '../../../../contracts/index.ts'
import { ask, askYes, canAsk } from '../../ask.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined, durationOf, organisationOption, urlOption, type Within, withinOf } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { count } from '../../output/layout.ts'
import { inWords, parseDuration, YEAR } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { approvalText } from './approval-text.ts'

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
      .description('Deny a call that waits. The caller is notified.')
      .argument('<ID>', 'the operation that waits, by its id'),
    'deny',
  ).action((id: string, _: object, command: Command) =>
    act(session => answerOne(session, id, 'deny', command.optsWithGlobals<AnswerOptions>())),
  )
  addExamples(deny, [
    ['quartermaster approvals deny op_9fGk', 'this call; the next one asks again'],
    ['quartermaster approvals deny op_9fGk --for 1h', 'and no question like it for an hour'],
  ])
}

function withLasting(command: Command, verb: string): Command {
  return command
    .option('--once', `${verb} this call and no other (as without any of these)`)
    .addOption(
      new Option(
        '--for <DURATION>',
        `${verb} the same operations and resource for a time, such as 10m, to this agent`,
      ).argParser(durationOf(YEAR)),
    )
    .option('--always', `${verb} them as long as the setting grantHours lets any answer last`)
    .addOption(organisationOption())
    .addOption(urlOption())
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

/** Shown on standard error, where the question is. A request that is over is not asked about: the answer says so. */
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
function sendAnswer(
  session: Session,
  control: PersonControl,
  id: string,
  answer: GivenAnswer,
): Promise<OperationFacts> {
  return session.attend('Answering', options => control.answerApproval(defined({ id, ...answer }), options))
}

/** `answer`: one after the other. */
export const registerWalk: Register = (approvals, act) => {
  const answer = approvals
    .command('answer')
    .description('Go through everything that waits, at a terminal: each is shown whole, and you are asked.')
    .addOption(new CompletingOption('--agent <NAME>', 'only those of this agent', 'agent'))
    .addOption(organisationOption())
    .addOption(urlOption())
    // The command above has an option of the same name, which takes it where it stands before this one.
    .action((_: object, command: { optsWithGlobals(): WalkOptions }) =>
      act(session => walk(session, command.optsWithGlobals())),
    )
  addExamples(answer, [['quartermaster approvals answer', 'all that waits']])
}

interface WalkOptions extends Within {
  agent?: string
}

async function walk(session: Session, { agent, ...options }: WalkOptions): Promise<number> {
  const within = withinOf(options)
  if (!canAsk(session))
    throw new UsageError('without a terminal no person can be asked. Use approvals show, allow and deny.')
  return await session.connectAsPerson(async control => {
    const open = await session.attend('Looking', options => control.approvals(defined({ agent, ...within }), options))
    await session.notices.write(open.length === 0 ? 'Nothing waits for you.\n' : `${waitingLine(open.length)}\n`)
    const answered = await answerEach(session, control, { open, within })
    if (session.json) await session.printJson(answered)
    return EXIT.done
  })
}

function waitingLine(amount: number): string {
  return `${count(amount, 'call')} ${amount === 1 ? 'waits' : 'wait'} for you.`
}

async function answerEach(
  session: Session,
  control: PersonControl,
  { open, within }: { open: readonly ApprovalSummary[]; within: Within },
): Promise<object[]> {
  const answered: object[] = []
  for (const { id } of open) {
    const facts = await session.attend('Looking', options => control.approval({ id, ...within }, options))
    if (facts.state !== 'open') continue
    await session.notices.write(`\n${approvalText(facts, session, session.notices)}`)
    const choice = await choose(session, facts)
    if (choice === 'quit') break
    if (choice !== 'skip') answered.push(...(await give(session, control, id, { ...choice, ...within })))
  }
  return answered
}

/** Another person may have answered meanwhile, or the answer does not fit: report it and go on. */
async function give(session: Session, control: PersonControl, id: string, answer: GivenAnswer): Promise<object[]> {
  try {
    const facts = await sendAnswer(session, control, id, answer)
    if (!session.json) await session.out.write(answeredText(facts, answer, session))
    return [facts]
  } catch (error) {
    if (!isAppError(error) || error.code !== 'REQUEST_REFUSED') throw error
    await session.notices.write(`${escapeLine(error.message)}\n`)
    return []
  }
}

type Choice = GivenAnswer | 'skip' | 'quit'

/** Asks until the answer can be understood. None at all is no decision. */
async function choose(session: Session, { asks }: ApprovalFacts): Promise<Choice> {
  const once = asks.some(({ grantable }) => grantable === 'once')
  const lasting = once ? '' : '; for a time, such as 10m; [a]lways'
  for (;;) {
    const choice = readChoice(await ask(session, `Allow? [y]es, once${lasting}; [n]o; [s]kip; [q]uit: `))
    if (choice) return choice
    await session.notices.write('Please answer with one of these. "n 10m" is a no for ten minutes.\n')
  }
}

const WORDS: Readonly<Record<string, Choice>> = {
  '': 'skip',
  s: 'skip',
  skip: 'skip',
  q: 'quit',
  quit: 'quit',
  y: { decision: 'allow', lasting: 'once' },
  yes: { decision: 'allow', lasting: 'once' },
  a: { decision: 'allow', lasting: 'always' },
  always: { decision: 'allow', lasting: 'always' },
  n: { decision: 'deny', lasting: 'once' },
  no: { decision: 'deny', lasting: 'once' },
}

function readChoice(text: string): Choice | undefined {
  const word = text.trim().toLowerCase()
  if (Object.hasOwn(WORDS, word)) return WORDS[word]
  const [, no, time = ''] = /^(?:(no?)\s+)?(\S+)$/.exec(word) ?? []
  const parsed = parseDuration(time, YEAR)
  if ('problem' in parsed) return undefined
  return { decision: no ? 'deny' : 'allow', lasting: 'time', minutes: parsed.ms / 60_000 }
}

type GivenAnswer = Omit<ControlInput<'answerApproval'>, 'id'>

/** What became of a call that was answered. */
function answeredText(facts: OperationFacts, answer: GivenAnswer, { out, from }: Session): string {
  const { id, tool, agent } = facts
  const isAllowed = answer.decision === 'allow'
  const mark = isAllowed ? out.paint.green('✓') : out.paint.red('✗')
  const word = isAllowed ? 'allowed' : 'denied'
  const next = isAllowed ? ` ${runText(facts, from)}` : doneText(facts)
  return `${mark} ${escapeLine(`"${tool}" of ${agent} is ${word}, ${lastingText(answer)}.${next} (${id})`)}\n`
}

function lastingText({ lasting, minutes = 0 }: GivenAnswer): string {
  if (lasting === 'time') return `and what is like it for ${inWords(minutes * 60_000)}`
  return lasting === 'always' ? 'and what is like it for as long as an answer is valid' : 'this once'
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
