import { type ApprovalFacts, type ApprovalSummary, isAppError, type PersonControl } from '../../../contracts/index.ts'
import { answeredText, type GivenAnswer } from '../answered-text.ts'
import { approvalText } from '../approval-text.ts'
import { CompletingOption } from '../completion/kinds.ts'
import { ask, canAsk } from '../consent.ts'
import { defined } from '../defined.ts'
import { parseDuration, YEAR } from '../duration.ts'
import { EXIT, UsageError } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { count } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { urlOption } from '../url-option.ts'
import { organisationOption, type Within, withinOf } from '../workspace-options.ts'
import { sendAnswer } from './approvals-answer.ts'

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
    throw new UsageError('nobody can be asked without a terminal. Use approvals show, allow and deny.')
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

/** Somebody else may have answered meanwhile, and some answers do not fit; that is told, and no reason to stop. */
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
