import type { PinRow, ReviewItem } from '../../contracts/index.ts'
import type { Steps } from '../kernel/index.ts'
import { differencesBetween } from './differences.ts'
import { heldState, isWarned } from './verdict.ts'

export interface ListOptions {
  /** With the definitions themselves, of which differences show only so much. */
  readonly whole?: true | undefined
  /** Beside that what is offered, for whoever wants to take it back. */
  readonly offered?: true | undefined
}

/** To compare two long texts takes a while, and a server may have many. */
export function* itemsOf(pins: readonly PinRow[], { whole }: ListOptions): Steps<ReviewItem[]> {
  const items: ReviewItem[] = []
  for (const pin of pins) {
    items.push(whole ? { ...toItem(pin), ...wholeOf(pin) } : toItem(pin))
    yield
  }
  return items
}

function toItem(pin: PinRow): ReviewItem {
  const { upstream, kind, name, hash, findings, seenAt, acceptedDefinition, definition } = pin
  return {
    upstream,
    kind,
    name,
    state: heldState(pin) ?? (isWarned(pin) ? 'warned' : 'offered'),
    hash,
    findings,
    changes: differencesBetween(acceptedDefinition, definition),
    seenAt,
  }
}

function wholeOf({ acceptedDefinition, definition }: PinRow): Pick<ReviewItem, 'accepted' | 'definition'> {
  return acceptedDefinition === null ? { definition } : { accepted: acceptedDefinition, definition }
}

export function byPlace(a: ReviewItem, b: ReviewItem): number {
  const [first, second] = [a, b].map(({ upstream, kind, name }) => `${upstream}\n${kind}\n${name}`) as [string, string]
  return first < second ? -1 : Number(first > second)
}
