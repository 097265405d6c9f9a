import { type Happening, isOver, type Move, type Outcome, of } from './history.ts'

interface Place {
  readonly state: string
  readonly fence: number
  readonly holder: string
  readonly until: number
  /** The run of the lease that is held. */
  readonly run?: number | undefined
}

/** Tools of which can be seen what they did, whatever their run says. */
const LOOKABLE = new Set(['mark'])

/**
 * A record goes on from where it stands, one step after the other; who holds it alone says how a run ended, until the lease
 * has run out; what has ended stays so, unless a person says otherwise.
 */
export function movesHold({ history }: Outcome): string[] {
  const places = new Map<string, Place>()
  const returned = new Set<number>()
  const words = countWords(history)
  const wrong: string[] = []
  for (const one of history) {
    if (one.kind === 'returned') returned.add(one.run)
    if (one.kind === 'renewed') renew(places, one)
    if (one.kind === 'ran' && !LOOKABLE.has(one.tool)) noteRun(places, one)
    if (one.kind !== 'moved') continue
    const place = places.get(one.operation)
    wrong.push(...(place ? wrongStep(place, one) : []), ...(isUnasked(one, words) ? [unasked(one)] : []))
    if (one.to === 'succeeded' && place?.run !== undefined && !returned.has(place.run))
      wrong.push(`${one.operation} ended as succeeded while its run went on.`)
    places.set(one.operation, after(place, one))
  }
  return wrong
}

function wrongStep(place: Place, { at, ...move }: Move & { at: number }): string[] {
  const { operation: id, from, to, fence, node, lease } = move
  if (from !== place.state || fence !== place.fence)
    return [`${id} went from ${from} (${fence}) to ${to} when it was ${place.state} (${place.fence}).`]
  if (lease && lease.fence <= place.fence) return [`${id} was leased again under the fence ${lease.fence}.`]
  if (from === 'leased' && node !== place.holder && at < place.until)
    return [`${id} was taken from "${place.holder}", who held it.`]
  return []
}

function after(place: Place | undefined, { node, to, fence, lease }: Move): Place {
  if (lease) return { state: to, fence: lease.fence, holder: node, until: lease.until }
  return { state: to, fence: place?.fence ?? fence, holder: '', until: 0 }
}

function renew(places: Map<string, Place>, { operations, until }: Extract<Happening, { kind: 'renewed' }>): void {
  for (const id of operations) {
    const place = places.get(id)
    if (place?.state === 'leased') places.set(id, { ...place, until })
  }
}

function noteRun(places: Map<string, Place>, { operation, node, run }: Extract<Happening, { kind: 'ran' }>): void {
  const place = places.get(operation)
  if (place?.state === 'leased' && place.holder === node) places.set(operation, { ...place, run })
}

/** How often persons have asked for something, and how often that was done; what no person asked for is not counted. */
function countWords(history: readonly Happening[]): Map<string, number> {
  const words = new Map<string, number>()
  for (const { operation, what } of of(history, 'wanted')) bump(words, `${what} ${operation}`, 1)
  return words
}

function isUnasked({ operation, from, to }: Move, words: Map<string, number>): boolean {
  if (!isOver(from)) return false
  return bump(words, `${to === 'queued' ? 'retry' : 'verify'} ${operation}`, -1) < 0
}

function unasked({ operation, from, to }: Move): string {
  return `${operation} ended as ${from} and then was ${to}, and nobody had asked for that.`
}

function bump(counts: Map<string, number>, key: string, by: number): number {
  const count = (counts.get(key) ?? 0) + by
  counts.set(key, count)
  return count
}
