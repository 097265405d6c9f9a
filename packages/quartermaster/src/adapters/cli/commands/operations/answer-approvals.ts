import { Option } from 'commander'
import {
  type ApprovalFacts,
  type ControlInput,
  isAppError,
  type OperationFacts,
  type PersonControl,
} from '../../../../contracts/index.ts'
import { ask, askYes, canAsk } from '../../ask.ts'
import { command, printAnswer } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { agentOption, defined, durationOf, organisationOption, urlOption } from '../../options.ts'
import { count } from '../../output/layout.ts'
import { escapeLine } from '../../output/terminal.ts'
import { inWords, parseDuration, YEAR } from '../../output/units.ts'
import type { Session } from '../../session.ts'
import { approvalText } from './approval-text.ts'

type GivenAnswer = Omit<ControlInput<'answerApproval'>, 'id'>
type Decision = GivenAnswer['decision']

interface AnswerCommand {
  id: string
  once?: boolean
  for?: number
  always?: boolean
  yes?: boolean
  organisation?: string
}

/** `allow` and `deny`. */
export const answerCommands = [
  command<AnswerCommand>({
    name: 'allow',
    alias: 'approve',
    description: 'Allow a call that waits, once, and it is run. At a terminal it is shown first, and you are asked.',
    arguments: [['<ID>', 'the operation that waits, by its id', 'id']],
    options: [...answerOptions('allow'), new Option('--yes', 'do not show it and do not ask, as without a terminal')],
    examples: [
      ['quartermaster approvals allow op_9fGk', 'this call and no other'],
      ['quartermaster approvals allow op_9fGk --for 10m', 'for ten minutes every call that asks for the same'],
    ],
    run: (session, given) => answerOne(session, 'allow', given),
  }),
  command<AnswerCommand>({
    name: 'deny',
    description: 'Deny a call that waits. The caller is notified.',
    arguments: [['<ID>', 'the operation that waits, by its id', 'id']],
    options: answerOptions('deny'),
    examples: [
      ['quartermaster approvals deny op_9fGk', 'this call; the next one asks again'],
      ['quartermaster approvals deny op_9fGk --for 1h', 'and no question like it for an hour'],
    ],
    run: (session, given) => answerOne(session, 'deny', given),
  }),
]

function answerOptions(verb: Decision): Option[] {
  return [
    new Option('--once', `${verb} this call and no other (the default)`),
    new Option(
      '--for <DURATION>',
      `${verb} the same operations and resource for a time, such as 10m, to this agent`,
    ).argParser(durationOf(YEAR)),
    new Option('--always', `${verb} them as long as the setting grantHours lets any answer last`),
    organisationOption(),
    urlOption(),
  ]
}

async function answerOne(session: Session, decision: Decision, given: AnswerCommand): Promise<number> {
  const { id, organisation, yes = false } = given
  const answer = { ...toAnswer(decision, given), ...defined({ organisation }) }
  const isAsked = decision === 'allow' && !yes && canAsk(session)
  session.hints = { operation: id, isApproval: true }
  return await session.connectAsPerson(async control => {
    if (isAsked && !(await isConfirmed(session, control, id, answer))) {
      await session.notices.write('Nothing was allowed. It still waits.\n')
      return EXIT.no
    }
    const facts = await sendAnswer(session, control, id, answer)
    return printAnswer(session, facts, { text: answeredText(facts, answer, session) })
  })
}

function toAnswer(decision: Decision, { once, for: ms, always }: AnswerCommand): GivenAnswer {
  const [one, other] = [once && '--once', ms !== undefined && '--for', always && '--always'].filter(Boolean)
  if (one && other) throw new UsageError(`${one} and ${other} contradict each other.`)
  if (ms !== undefined) return { decision, lasting: 'time', minutes: ms / 60_000 }
  return { decision, lasting: always ? 'always' : 'once' }
}

const QUESTIONS = { once: 'Allow once?', time: 'Allow for this time?', always: 'Allow always?' } as const

/** Shows the call and asks. A request that was answered already is not asked about: the answer to the command says so. */
async function isConfirmed(
  session: Session,
  control: PersonControl,
  id: string,
  { lasting, organisation }: GivenAnswer,
): Promise<boolean> {
  const input = { id, ...defined({ organisation }) }
  const facts = await session.attend('Looking', options => control.approval(input, options))
  if (facts.state !== 'open') return true
  await session.notices.write(approvalText(facts, session, session.notices))
  return await askYes(session, QUESTIONS[lasting])
}

function sendAnswer(
  session: Session,
  control: PersonControl,
  id: string,
  answer: GivenAnswer,
): Promise<OperationFacts> {
  return session.attend('Answering', options => control.answerApproval({ id, ...answer }, options))
}

/** Asks about one approval after the other. */
export const answerEachCommand = command<{ agent?: string; organisation?: string }>({
  name: 'answer',
  description: 'Go through everything that waits, at a terminal: each is shown whole, and you are asked.',
  options: [agentOption('only those of this agent'), organisationOption(), urlOption()],
  examples: [['quartermaster approvals answer', 'all that waits']],
  async run(session, { agent, organisation }) {
    if (!canAsk(session))
      throw new UsageError('without a terminal no person can be asked. Use approvals show, allow and deny.')
    return await session.connectAsPerson(async control => {
      const within = defined({ organisation })
      const filter = defined({ agent, organisation })
      const open = await session.attend('Looking', options => control.approvals(filter, options))
      const waiting = `${count(open.length, 'call')} ${open.length === 1 ? 'waits' : 'wait'} for you.\n`
      await session.notices.write(open.length === 0 ? 'Nothing waits for you.\n' : waiting)
      const answered: OperationFacts[] = []
      for (const { id } of open) {
        const facts = await session.attend('Looking', options => control.approval({ id, ...within }, options))
        if (facts.state !== 'open') continue
        await session.notices.write(`\n${approvalText(facts, session, session.notices)}`)
        const choice = await choose(session, facts)
        if (choice === 'quit') break
        if (choice !== 'skip') answered.push(...(await tryAnswer(session, control, id, { ...choice, ...within })))
      }
      if (session.json) await session.printJson(answered)
      return EXIT.done
    })
  },
})

/** Another person may have answered meanwhile, or the answer does not fit: report it and go on. */
async function tryAnswer(
  session: Session,
  control: PersonControl,
  id: string,
  answer: GivenAnswer,
): Promise<OperationFacts[]> {
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

/** Asks until the answer can be understood. An empty answer is no decision. */
async function choose(session: Session, { asks }: ApprovalFacts): Promise<Choice> {
  const isOnce = asks.some(({ grantable }) => grantable === 'once')
  const lasting = isOnce ? '' : '; for a time, such as 10m; [a]lways'
  for (;;) {
    const choice = readChoice(await ask(session, `Allow? [y]es, once${lasting}; [n]o; [s]kip; [q]uit: `))
    if (choice) return choice
    await session.notices.write('Please answer with one of these. "n 10m" is a no for ten minutes.\n')
  }
}

const ALLOW: Choice = { decision: 'allow', lasting: 'once' }
const DENY: Choice = { decision: 'deny', lasting: 'once' }
const ALWAYS: Choice = { decision: 'allow', lasting: 'always' }

const WORDS: ReadonlyMap<string, Choice> = new Map<string, Choice>([
  ['', 'skip'],
  ['s', 'skip'],
  ['skip', 'skip'],
  ['q', 'quit'],
  ['quit', 'quit'],
  ['y', ALLOW],
  ['yes', ALLOW],
  ['a', ALWAYS],
  ['always', ALWAYS],
  ['n', DENY],
  ['no', DENY],
])

function readChoice(text: string): Choice | undefined {
  const word = text.trim().toLowerCase()
  const known = WORDS.get(word)
  if (known) return known
  const [, no, time = ''] = /^(?:(no?)\s+)?(\S+)$/.exec(word) ?? []
  const parsed = parseDuration(time, YEAR)
  if ('problem' in parsed) return undefined
  return { decision: no ? 'deny' : 'allow', lasting: 'time', minutes: parsed.ms / 60_000 }
}

function answeredText(facts: OperationFacts, answer: GivenAnswer, { out, from }: Session): string {
  const { id, tool, agent } = facts
  const isAllowed = answer.decision === 'allow'
  const mark = isAllowed ? out.paint.green('✓') : out.paint.red('✗')
  const word = isAllowed ? 'allowed' : 'denied'
  const next = isAllowed ? ` ${afterAllowing(facts, from)}` : afterDenying(facts)
  return `${mark} ${escapeLine(`"${tool}" of ${agent} is ${word}, ${lastingText(answer)}.${next} (${id})`)}\n`
}

function lastingText({ lasting, minutes = 0 }: GivenAnswer): string {
  if (lasting === 'time') return `and what is like it for ${inWords(minutes * 60_000)}`
  return lasting === 'always' ? 'and what is like it for as long as an answer is valid' : 'this once'
}

/** A denial undoes nothing. */
function afterDenying({ id, state }: OperationFacts): string {
  if (state === 'succeeded') return ' An earlier run had done it already.'
  return state === 'unknown' ? ` An earlier run may have done it: quartermaster operations verify ${id}.` : ''
}

/** Where no `up` runs, the command itself has run it. */
function afterAllowing({ state, error }: OperationFacts, from: Session['from']): string {
  if (state === 'succeeded') return 'It is done.'
  if (from !== 'process') return 'It is run now.'
  if (state === 'queued') return 'It could not be done now and is tried again once an `up` runs.'
  return `It was run, and is ${state}.${error ? ` ${error.code}: ${error.message}` : ''}`
}
