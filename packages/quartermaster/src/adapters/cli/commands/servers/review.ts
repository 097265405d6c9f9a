import { AppError, type Control, type ControlInput, PinKind, type ReviewItem } from '../../../../contracts/index.ts'
import { didYouMean } from '../../../../core/kernel/index.ts'
import { askYes, canAsk } from '../../ask.ts'
import { addExamples, type Register } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeHidden, escapeLine, toVisibleJsonText } from '../../output/escape.ts'
import { count } from '../../output/layout.ts'
import type { Session } from '../../session.ts'
import { itemName, reviewText, versionName } from './review-text.ts'
import { unseenAmong, unseenText } from './upstream-status.ts'

export const registerReview: Register = (upstreams, act) => {
  const review = upstreams
    .command('review')
    .description('Show what waits for you: new, changed and suspicious definitions, with the difference and a hash.')
    .addArgument(new CompletingArgument('[NAME]', 'only of this upstream', 'upstream'))
    .option('--offered', 'also what is offered: reject it by name to take it back')
    .action((name: string | undefined, { offered = false }: { offered?: boolean }) =>
      act(session => showReview(session, { name, offered })),
    )
  addExamples(review, [
    ['quartermaster upstreams review', 'everything that waits'],
    ['quartermaster upstreams review github', 'of one upstream'],
  ])
}

export const registerDecisions: Register = (upstreams, act) => {
  for (const decision of ['accept', 'reject'] as const) {
    const { description, done } = DECISIONS[decision]
    const command = upstreams
      .command(decision)
      .description(description)
      .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
      .argument(
        '[ITEM...]',
        'what of it, by name; KIND:NAME where two kinds share one; NAME@HASH for the version that review has shown',
      )
      .option('--all', 'everything of it that waits')
      .option(
        '--yes',
        'do not ask; without a hash it is about what waits then. To accept, it or hashes are needed where there is no terminal',
      )
      .action((name: string, items: string[], { all = false, yes = false }: { all?: boolean; yes?: boolean }) =>
        act(session => decide(session, { name, items, all, yes, decision })),
      )
    addExamples(command, [
      [`quartermaster upstreams ${decision} github create_issue`, `see it, say yes, and it ${done}`],
      [`quartermaster upstreams ${decision} github create_issue@3f9ac02b41d7e865`, 'only as review has shown it'],
      [`quartermaster upstreams ${decision} github --all`, 'all that waits'],
    ])
  }
}

const DECISIONS = {
  accept: {
    description:
      'Offer what waits, in exactly the form that is shown to you, or that NAME@HASH says. Where any of it has changed since, nothing is accepted.',
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

async function showReview(session: Session, wish: Wanted): Promise<number> {
  const { name } = wish
  session.hints = defined({ upstream: name })
  const { items, statuses } = await session.connect(control =>
    session.attend('Looking', async options => ({
      items: await control.reviewItems(wanted(session, wish), options),
      // The servers in question were waited for already; the others need not be.
      statuses: await control.upstreams({}),
    })),
  )
  if (session.json) await printItems(session, items)
  else {
    await session.out.write(reviewText(items, session.out))
    await session.notices.write(summary(items))
  }
  // Beside the items, because there are none of it: also a program is not to take that for nothing to look at.
  await session.notices.write(unseenText(unseenAmong(statuses.filter(one => name === undefined || one.name === name))))
  return EXIT.done
}

interface Wanted {
  readonly name: string | undefined
  /** Also what is offered. */
  readonly offered: boolean
}

/** A program gets all of what differences show only so much of. */
function wanted({ json }: Session, { name, offered }: Wanted): ControlInput<'reviewItems'> {
  return { ...defined({ name }), ...(json && { whole: true }), ...(offered && { offered: true }) }
}

/** What was decided on, with the definitions that were looked at. */
function wholeOf(decided: readonly ReviewItem[], chosen: readonly ReviewItem[]): ReviewItem[] {
  const seen = new Map(chosen.map(item => [versionName(item), item]))
  return decided.map(item => ({ ...seen.get(versionName(item)), ...item }))
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

/** What a person has refused is not swept up with the rest, and neither is what agents may be using. */
function isWaiting({ state }: ReviewItem): boolean {
  return state !== 'rejected' && state !== 'warned' && state !== 'offered'
}

interface Decision {
  readonly name: string
  readonly items: readonly string[]
  readonly all: boolean
  readonly yes: boolean
  readonly decision: 'accept' | 'reject'
}

async function decide(session: Session, { name, items, all, yes, decision }: Decision): Promise<number> {
  if (all === items.length > 0) throw new UsageError(`name what to ${decision}, or say --all.`)
  session.hints = { upstream: name }
  return session.connect(async control => {
    // Who has accepted something by mistake can take that back by its name.
    const wish = wanted(session, { name, offered: decision === 'reject' && !all })
    const listed = await session.attend('Looking', options => control.reviewItems(wish, options))
    session.hints = { upstream: name, isReview: true }
    const chosen = all ? listed.filter(isWaiting) : chooseItems(items, listed)
    const isAsked = chosen.length > 0 && !yes && canAsk(session)
    const isSeen = isAsked || yes || (!all && items.every(isOfVersion))
    if (decision === 'accept' && chosen.length > 0 && !isSeen) throw new UsageError(unasked(name))
    if (isAsked && !(await isWanted(session, chosen, decision))) return refused(session, decision)
    const decided = chosen.length > 0 ? await send(session, control, { name, chosen, decision }) : []
    if (session.json) await printItems(session, wholeOf(decided, chosen))
    else await session.out.write(decidedText(decided, { name, decision, isShown: isAsked }, session))
    return EXIT.done
  })
}

/** Without having seen it, a person could offer it to agents by mistake. */
function unasked(name: string): string {
  const look = `quartermaster upstreams review ${escapeLine(name)}`
  return `without a terminal no person can be asked. Look at it with "${look}", then name what you have seen (NAME@HASH), or say --yes.`
}

/** Shown on standard error, where the question is. */
async function isWanted(
  session: Session,
  chosen: readonly ReviewItem[],
  decision: Decision['decision'],
): Promise<boolean> {
  await session.notices.write(`${reviewText(chosen, session.notices)}\n`)
  const what = chosen.length === 1 ? 'this' : `these ${chosen.length}`
  return askYes(session, `${DECISIONS[decision].question} ${what}?`)
}

async function refused(session: Session, decision: Decision['decision']): Promise<number> {
  if (session.json) await printItems(session, [])
  await session.notices.write(`Nothing was ${DECISIONS[decision].verb}.\n`)
  return EXIT.no
}

interface Choice {
  readonly name: string
  readonly chosen: readonly ReviewItem[]
  readonly decision: Decision['decision']
}

/** With the hashes of what was shown: what has changed since is refused. */
function send(session: Session, control: Control, { name, chosen, decision }: Choice): Promise<ReviewItem[]> {
  const items = chosen.map(item => ({ kind: item.kind, name: item.name, hash: item.hash }))
  return session.attend('Deciding', options => control.decideReview({ upstream: name, decision, items }, options))
}

interface Decided extends Pick<Decision, 'name' | 'decision'> {
  /** Whether the person has it before them already. */
  readonly isShown: boolean
}

function decidedText(decided: readonly ReviewItem[], { name, decision, isShown }: Decided, { out }: Session): string {
  if (decided.length === 0) return `${escapeLine(`Nothing of "${name}" waits.`)}\n`
  const { verb } = DECISIONS[decision]
  const lines = decided.map(
    item => `${out.paint.green('✓')} ${versionName(item)} of ${escapeLine(item.upstream)} is ${verb}.\n`,
  )
  return [isShown ? '' : `${reviewText(decided, out)}\n`, ...lines].join('')
}

/** What is there and is meant by the words of a command line, each once. Throws for a word that means nothing or two things. */
function chooseItems(words: readonly string[], items: readonly ReviewItem[]): ReviewItem[] {
  return [...new Set(words.map(word => choose(word, items)))]
}

/** Whether a word says which version of a thing is meant, so that it can be no other than the one that was looked at. */
function isOfVersion(word: string): boolean {
  return readWord(word).hash !== undefined
}

/** `NAME`, `KIND:NAME`, and either with `@` and the beginning of its hash. */
function choose(word: string, items: readonly ReviewItem[]): ReviewItem {
  const { name, hash } = readWord(word)
  const named = items.filter(item => isCalled(name, item))
  const found = hash === undefined ? named : named.filter(item => item.hash.startsWith(hash))
  const [first, another] = found
  if (another) throw ambiguous(word, found)
  if (first) return first
  if (named.length > 0) throw changedMeanwhile(name)
  throw unknown(word, items)
}

/**
 * A tail that looks like a hash always is one. A server could otherwise name a tool like a version of another, and a person who
 * accepts that version would accept the tool.
 */
function readWord(word: string): { name: string; hash?: string } {
  const [, name, hash] = /^(.+)@([0-9a-f]{8,64})$/is.exec(word) ?? []
  return name === undefined || hash === undefined ? { name: word } : { name, hash: hash.toLowerCase() }
}

// Before two slashes it is the scheme of an address: resources are often called `resource://…`.
const WITH_KIND = new RegExp(`^(?:${PinKind.options.join('|')}):(?!//)`)

/** By the name as it is or as it was shown. A word with a kind is never a mere name, for the reason above. */
function isCalled(word: string, item: ReviewItem): boolean {
  if (WITH_KIND.test(word)) return word === `${item.kind}:${item.name}` || word === itemName(item)
  return word === item.name || `${item.kind}:${word}` === itemName(item)
}

function ambiguous(word: string, found: readonly ReviewItem[]): AppError {
  const names = found.map(item => `"${versionName(item)}"`)
  return new AppError('NAME_AMBIGUOUS', `"${word}" is ${names.join(' and ')}. Say which.`)
}

function changedMeanwhile(name: string): AppError {
  return new AppError('EDIT_CONFLICT', `"${name}" is not what you looked at any more. Nothing was decided.`)
}

/** What is decided or offered can be named too, but does not wait. */
const WAITING: ReadonlySet<ReviewItem['state']> = new Set(['new', 'changed', 'suspicious'])

function unknown(word: string, items: readonly ReviewItem[]): AppError {
  if (/@[0-9a-f]{1,7}$/i.test(word))
    return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits. Of a hash at least 8 characters are needed.`)
  const known = items.map(item => escapeHidden(item.name))
  const waiting = items.filter(({ state }) => WAITING.has(state)).map(itemName)
  const there = waiting.length === 0 ? ' Nothing else does.' : ` There wait: ${waiting.slice(0, 20).join(', ')}.`
  const hint = didYouMean(word, known) || there
  return new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits.${hint}`)
}
