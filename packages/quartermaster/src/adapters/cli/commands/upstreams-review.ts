import { AppError, type ControlInput, type ReviewItem } from '../../../contracts/index.ts'
import { didYouMean } from '../../../core/kernel/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT, UsageError } from '../errors.ts'
import { escapeHidden, escapeLine, toVisibleJsonText } from '../escape.ts'
import { count } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import { itemName, reviewText } from '../review-text.ts'
import type { Session } from '../session.ts'

export const registerReview: Register = (upstreams, act) => {
  const review = upstreams
    .command('review')
    .description('Show what waits for you: new, changed and suspicious definitions, with the difference.')
    .addArgument(new CompletingArgument('[NAME]', 'only of this upstream', 'upstream'))
    .action((name: string | undefined) => act(session => showReview(session, name)))
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
      .argument('[ITEM...]', 'what of it, by name; KIND:NAME where two kinds share one')
      .option('--all', 'everything of it that waits')
      .action((name: string, items: string[], { all = false }: { all?: boolean }) =>
        act(session => decide(session, { name, items, all, decision })),
      )
    addExamples(command, [
      [`quartermaster upstreams ${decision} github create_issue`, `one tool ${done}`],
      [`quartermaster upstreams ${decision} github --all`, 'all that waits'],
    ])
  }
}

const DECISIONS = {
  accept: {
    description: 'Offer what waits, as it is now. Look first: quartermaster upstreams review',
    done: 'is offered',
  },
  reject: { description: 'Keep back what waits, until it changes again.', done: 'stays away' },
} as const

async function showReview(session: Session, name: string | undefined): Promise<number> {
  session.hints = defined({ upstream: name })
  const items = await session.connect(control =>
    session.attend('Looking', options => control.reviewItems(defined({ name }), options)),
  )
  if (session.json) await session.out.write(`${toVisibleJsonText(items, { pretty: session.out.isTerminal })}\n`)
  else if (items.length === 0) await session.notices.write('Nothing waits for you.\n')
  else {
    await session.out.write(reviewText(items, session.out))
    await session.notices.write(
      `\n${count(items.length, 'definition')} wait${items.length === 1 ? 's' : ''}. Then: quartermaster upstreams accept NAME ITEM, or reject\n`,
    )
  }
  return EXIT.done
}

interface Decision {
  readonly name: string
  readonly items: readonly string[]
  readonly all: boolean
  readonly decision: 'accept' | 'reject'
}

async function decide(session: Session, { name, items, all, decision }: Decision): Promise<number> {
  if (all === items.length > 0) throw new UsageError(`name what to ${decision}, or say --all.`)
  session.hints = { upstream: name }
  const decided = await session.connect(async control => {
    const waiting = all ? [] : await control.reviewItems({ name })
    const chosen = items.map(word => choose(word, waiting))
    const choice: ControlInput<'decideReview'> = { upstream: name, decision, ...(all ? {} : { items: chosen }) }
    return session.attend('Deciding', options => control.decideReview(choice, options))
  })
  if (session.json) await session.out.write(`${toVisibleJsonText(decided, { pretty: session.out.isTerminal })}\n`)
  else await session.out.write(decidedText(decided, { name, decision }, session))
  return EXIT.done
}

/** What a word means: the name as it is or as it was shown, alone or with its kind. */
function choose(word: string, waiting: readonly ReviewItem[]): Pick<ReviewItem, 'kind' | 'name' | 'hash'> {
  const exact = waiting.filter(item => word === `${item.kind}:${item.name}` || word === itemName(item))
  const named = waiting.filter(item => word === item.name || word === escapeHidden(item.name))
  const [found, another] = exact.length > 0 ? exact : named
  if (another) {
    const names = named.map(item => `"${itemName(item)}"`)
    throw new AppError('NAME_AMBIGUOUS', `"${word}" is ${names.join(' and ')}. Say which.`)
  }
  if (found) return { kind: found.kind, name: found.name, hash: found.hash }
  const known = waiting.map(item => escapeHidden(item.name))
  const hint = didYouMean(word, known) || ` There wait: ${waiting.slice(0, 20).map(itemName).join(', ') || 'none'}.`
  throw new AppError('NAME_UNKNOWN', `Nothing named "${word}" waits.${hint}`)
}

function decidedText(
  decided: readonly ReviewItem[],
  { name, decision }: { name: string; decision: 'accept' | 'reject' },
  { out }: Session,
): string {
  if (decided.length === 0) return escapeLine(`Nothing of "${name}" waited.`) + '\n'
  const verb = decision === 'accept' ? 'accepted' : 'rejected'
  return decided
    .map(item => `${out.paint.green('✓')} ${itemName(item)} of ${escapeLine(item.upstream)} is ${verb}.\n`)
    .join('')
}
