import { Option } from 'commander'
import { AppError, type Control, type ControlInput, PinKind, type ReviewItem } from '../../../../contracts/index.ts'
import { didYouMean } from '../../../../core/kernel/index.ts'
import { askYes, canAsk } from '../../ask.ts'
import { command } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { count } from '../../output/layout.ts'
import { escapeHidden, escapeLine, toVisibleJsonText } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { itemName, reviewText, versionName } from './review-text.ts'
import { unconnectedAmong, unconnectedText } from './upstream-status.ts'

export const registerReview = command<{ name?: string; offered?: boolean }>({
  name: 'review',
  description: 'Show what waits for you: new, changed and suspicious definitions, with the difference and a hash.',
  arguments: [['[NAME]', 'only of this upstream', 'name', 'upstream']],
  options: [new Option('--offered', 'also what is offered: reject it by name to take it back')],
  examples: [
    ['quartermaster upstreams review', 'everything that waits'],
    ['quartermaster upstreams review github', 'of one upstream'],
  ],
  async run(session, { name, offered = false }) {
    session.hints = { upstream: name }
    const { out, notices, json } = session
    const { items, statuses } = await session.connect(control =>
      session.attend('Looking', async options => ({
        items: await control.reviewItems(reviewInput(session, name, offered), options),
        // The servers in question were waited for already; the others need not be.
        statuses: await control.upstreams({}),
      })),
    )
    if (json) await printItems(session, items)
    else {
      await out.write(reviewText(items, out))
      await notices.write(summary(items))
    }
    // Servers that were never connected have no items, which a program must not take for nothing to review.
    const meant = statuses.filter(one => name === undefined || one.name === name)
    await notices.write(unconnectedText(unconnectedAmong(meant)))
    return EXIT.done
  },
})

const DECISIONS = {
  accept: {
    description:
      'Offer what waits, in exactly the form that is shown to you, or that NAME@HASH names. Where any of it has changed since, nothing is accepted.',
    done: 'is offered',
    verb: 'accepted',
    question: 'Accept',
  },
  reject: {
    description:
      'Keep back what waits, or what is offered and you name, until it changes again. Where any of it has changed since it was shown, nothing is rejected.',
    done: 'stays away',
    verb: 'rejected',
    question: 'Reject',
  },
} as const

type Decision = keyof typeof DECISIONS

interface DecisionCommand {
  name: string
  items: string[]
  all?: boolean
  yes?: boolean
}

/** `accept` and `reject`. */
export const decisionCommands = (['accept', 'reject'] as const).map(decision =>
  command<DecisionCommand>({
    name: decision,
    description: DECISIONS[decision].description,
    arguments: [
      ['<NAME>', 'the upstream', 'name', 'upstream'],
      [
        '[ITEM...]',
        'what of it, by name; KIND:NAME where two kinds share one; NAME@HASH for the version that review has shown',
        'items',
      ],
    ],
    options: [
      new Option('--all', 'everything of it that waits'),
      new Option(
        '--yes',
        'do not ask; without a hash it is about what waits then. To accept, it or hashes are needed where there is no terminal',
      ),
    ],
    examples: [
      [
        `quartermaster upstreams ${decision} github create_issue`,
        `see it, say yes, and it ${DECISIONS[decision].done}`,
      ],
      [`quartermaster upstreams ${decision} github create_issue@3f9ac02b41d7e865`, 'only as review has shown it'],
      [`quartermaster upstreams ${decision} github --all`, 'all that waits'],
    ],
    run: (session, given) => decide(session, decision, given),
  }),
)

/** A program gets whole definitions, of which differences show only so much. */
function reviewInput({ json }: Session, name: string | undefined, offered: boolean): ControlInput<'reviewItems'> {
  return { ...defined({ name }), ...(json && { whole: true }), ...(offered && { offered: true }) }
}

function printItems({ out }: Session, items: readonly ReviewItem[]): Promise<void> {
  return out.write(`${toVisibleJsonText(items, { pretty: out.isTerminal })}\n`)
}

function summary(items: readonly ReviewItem[]): string {
  const waiting = items.filter(isWaiting).length
  if (items.length === 0) return 'Nothing waits for you.\n'
  const warned = items.filter(({ state }) => state === 'warned').length
  const told = warned === 0 ? '' : ` ${warned} ${warned === 1 ? 'is' : 'are'} offered with a warning.`
  const isAllRejected = items.every(({ state }) => state === 'rejected')
  if (waiting + warned === 0) return `\nNothing waits for you${isAllRejected ? '; these you have rejected' : ''}.\n`
  const what = waiting === 0 ? 'Nothing waits' : `${count(waiting, 'definition')} wait${waiting === 1 ? 's' : ''}`
  return `\n${what}.${told} Then: quartermaster upstreams accept NAME ITEM@HASH, or reject\n`
}

/** `--all` leaves out what was rejected, and what agents may be using. */
function isWaiting({ state }: ReviewItem): boolean {
  return state === 'new' || state === 'changed' || state === 'suspicious'
}

async function decide(session: Session, decision: Decision, given: DecisionCommand): Promise<number> {
  const { name, items, all = false, yes = false } = given
  if (all === items.length > 0) throw new UsageError(`name what to ${decision}, or say --all.`)
  session.hints = { upstream: name }
  return session.connect(async control => {
    // A person who accepted something by mistake can take that back by its name.
    const input = reviewInput(session, name, decision === 'reject' && !all)
    const listed = await session.attend('Looking', options => control.reviewItems(input, options))
    session.hints = { upstream: name, isReview: true }
    const chosen = all ? listed.filter(isWaiting) : chooseItems(items, listed)
    const isAsked = chosen.length > 0 && !yes && canAsk(session)
    const isSeen = isAsked || yes || (!all && items.every(word => parseItem(word).hash !== undefined))
    if (decision === 'accept' && chosen.length > 0 && !isSeen) throw new UsageError(unasked(name))
    if (isAsked && !(await isConfirmed(session, chosen, decision))) {
      if (session.json) await printItems(session, [])
      await session.notices.write(`Nothing was ${DECISIONS[decision].verb}.\n`)
      return EXIT.no
    }
    const decided = chosen.length > 0 ? await sendDecision(session, control, { name, chosen, decision }) : []
    if (session.json) await printItems(session, withDefinitions(decided, chosen))
    else await session.out.write(decidedText(decided, { name, decision, isShown: isAsked }, session))
    return EXIT.done
  })
}

/** What was decided, with the definitions that were read before. */
function withDefinitions(decided: readonly ReviewItem[], chosen: readonly ReviewItem[]): ReviewItem[] {
  const seen = new Map(chosen.map(item => [versionName(item), item]))
  return decided.map(item => ({ ...seen.get(versionName(item)), ...item }))
}

/** A person who has not seen a definition could offer it to agents by mistake. */
function unasked(name: string): string {
  const look = `quartermaster upstreams review ${escapeLine(name)}`
  return `without a terminal no person can be asked. Look at it with "${look}", then name what you have seen (NAME@HASH), or say --yes.`
}

async function isConfirmed(session: Session, chosen: readonly ReviewItem[], decision: Decision): Promise<boolean> {
  await session.notices.write(`${reviewText(chosen, session.notices)}\n`)
  const what = chosen.length === 1 ? 'this' : `these ${chosen.length}`
  return askYes(session, `${DECISIONS[decision].question} ${what}?`)
}

/** Sends the hashes of what was shown: what has changed since is refused. */
function sendDecision(
  session: Session,
  control: Control,
  { name, chosen, decision }: { name: string; chosen: readonly ReviewItem[]; decision: Decision },
): Promise<ReviewItem[]> {
  const items = chosen.map(({ kind, name, hash }) => ({ kind, name, hash }))
  return session.attend('Deciding', options => control.decideReview({ upstream: name, decision, items }, options))
}

function decidedText(
  decided: readonly ReviewItem[],
  { name, decision, isShown }: { name: string; decision: Decision; isShown: boolean },
  { out }: Session,
): string {
  if (decided.length === 0) return `${escapeLine(`Nothing of "${name}" waits.`)}\n`
  const lines = decided.map(
    item =>
      `${out.paint.green('✓')} ${versionName(item)} of ${escapeLine(item.upstream)} is ${DECISIONS[decision].verb}.\n`,
  )
  return [isShown ? '' : `${reviewText(decided, out)}\n`, ...lines].join('')
}

/** The items that the words of a command line name, each once. Throws for a word that names none or two. */
function chooseItems(words: readonly string[], items: readonly ReviewItem[]): ReviewItem[] {
  return [...new Set(words.map(word => chooseItem(word, items)))]
}

/** `NAME`, `KIND:NAME`, and either with `@` and the beginning of its hash. */
function chooseItem(word: string, items: readonly ReviewItem[]): ReviewItem {
  const { name, hash } = parseItem(word)
  const named = items.filter(item => isNamed(name, item))
  const found = hash === undefined ? named : named.filter(item => item.hash.startsWith(hash))
  const [first, another] = found
  if (another) {
    const names = found.map(item => `"${versionName(item)}"`)
    throw new AppError('NAME_AMBIGUOUS', `"${word}" is ${names.join(' and ')}. Say which.`)
  }
  if (first) return first
  if (named.length > 0)
    throw new AppError('EDIT_CONFLICT', `"${name}" is not what you looked at any more. Nothing was decided.`)
  throw unknownItem(word, items)
}

/**
 * A tail that looks like a hash always is one. A server could otherwise name a tool like a version of another, and a person who
 * accepts that version would accept the tool.
 */
function parseItem(word: string): { name: string; hash?: string } {
  const [, name, hash] = /^(.+)@([0-9a-f]{8,64})$/is.exec(word) ?? []
  return name === undefined || hash === undefined ? { name: word } : { name, hash: hash.toLowerCase() }
}

// Before two slashes it is the scheme of an address: resources are often called `resource://…`.
const WITH_KIND = new RegExp(`^(?:${PinKind.options.join('|')}):(?!//)`)

/** By the name itself or as it was shown. A word with a kind is never a mere name, for the reason above. */
function isNamed(word: string, item: ReviewItem): boolean {
  if (WITH_KIND.test(word)) return word === `${item.kind}:${item.name}` || word === itemName(item)
  return word === item.name || `${item.kind}:${word}` === itemName(item)
}

function unknownItem(word: string, items: readonly ReviewItem[]): AppError {
  if (/@[0-9a-f]{1,7}$/i.test(word))
    return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits. Of a hash at least 8 characters are needed.`)
  const known = items.map(item => escapeHidden(item.name))
  const waiting = items.filter(isWaiting).map(itemName)
  const others = waiting.length === 0 ? ' Nothing else does.' : ` There wait: ${waiting.slice(0, 20).join(', ')}.`
  return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits.${didYouMean(word, known) || others}`)
}
