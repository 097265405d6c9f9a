import type { Control, ReviewItem } from '../../contracts/index.ts'
import { escapeLine } from './escape.ts'
import { paragraph } from './layout.ts'
import type { Printer } from './printer.ts'
import { itemName } from './review-text.ts'
import type { Session } from './session.ts'

/** Something of a server that was there before, held back or warned of since others came: what servers say of others counts. */
export type JudgedAgain = Pick<ReviewItem, 'upstream' | 'kind' | 'name' | 'state'>

type Asked = Pick<Control, 'upstreams' | 'reviewItems'>

/** Notes what is in review of those that were seen. Answers who says, when all is done, what came to that of others than these. */
export async function watchReview(
  session: Session,
  control: Asked,
): Promise<(fresh: readonly string[]) => Promise<JudgedAgain[]>> {
  const known = await quietly(session, () => knownNow(control), { seen: new Set<string>(), states: new Map() })
  return async fresh => {
    const items = await quietly(session, () => control.reviewItems({}), [])
    const isOther = ({ upstream }: ReviewItem) => known.seen.has(upstream) && !fresh.includes(upstream)
    return items
      .filter(item => isOther(item) && isNews(item.state, known.states.get(keyOf(item))))
      .map(({ upstream, kind, name, state }) => ({ upstream, kind, name, state }))
  }
}

type States = ReadonlyMap<string, ReviewItem['state']>

/** What a server that nobody has seen brings at first sight is not for what others bring. */
async function knownNow(control: Asked): Promise<{ seen: ReadonlySet<string>; states: States }> {
  const statuses = await control.upstreams({})
  const seen = new Set(statuses.filter(({ unseen }) => unseen === undefined).map(({ name }) => name))
  const items = seen.size === 0 ? [] : await control.reviewItems({})
  return { seen, states: new Map(items.map(item => [keyOf(item), item.state])) }
}

/** Whoever adds something is told of that, whatever is in the way of what this is about. */
async function quietly<T>(session: Session, look: () => Promise<T>, otherwise: T): Promise<T> {
  return session.attend('Looking', look).catch(() => otherwise)
}

/** Only findings come by others. What was held already is no news. */
function isNews(now: ReviewItem['state'], before: ReviewItem['state'] | undefined): boolean {
  const wasOffered = before === undefined || before === 'offered'
  return now === 'suspicious' ? wasOffered || before === 'warned' : now === 'warned' && wasOffered
}

function keyOf({ upstream, kind, name }: ReviewItem): string {
  return `${upstream} ${kind} ${name}`
}

/** A line for each server that was there before. */
export function judgedText(judged: readonly JudgedAgain[], printer: Printer): string {
  const upstreams = [...new Set(judged.map(({ upstream }) => upstream))]
  return upstreams.map(name => lineOf(name, ofUpstream(judged, name), printer)).join('')
}

function ofUpstream(judged: readonly JudgedAgain[], name: string): JudgedAgain[] {
  return judged.filter(({ upstream }) => upstream === name)
}

function lineOf(name: string, judged: readonly JudgedAgain[], printer: Printer): string {
  const held = judged.filter(({ state }) => state === 'suspicious')
  const warned = judged.filter(({ state }) => state === 'warned')
  const parts = [
    held.length > 0 ? `held for review from now on: ${namesOf(held)}` : '',
    warned.length > 0 ? `warned of from now on: ${namesOf(warned)}` : '',
  ]
  const what = parts.filter(part => part !== '').join('; ')
  const text = `${name}, which was there before: ${what} (quartermaster upstreams review ${name})`
  return `${printer.paint.yellow('!')} ${paragraph(escapeLine(text), { ...printer, width: undefined })}`
}

/** The review shows them all. */
const MOST_NAMED = 5

function namesOf(judged: readonly JudgedAgain[]): string {
  const named = judged.slice(0, MOST_NAMED).map(itemName).join(', ')
  const more = judged.length - MOST_NAMED
  return more > 0 ? `${named} and ${more} more` : named
}
