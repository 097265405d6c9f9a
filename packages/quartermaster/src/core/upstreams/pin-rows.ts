import type { PinRow } from '../../contracts/index.ts'
import type { Store } from '../store/index.ts'
import { isWarned } from './verdict.ts'

const UNACCEPTED = { in: ['pending', 'rejected'] } as const
export const PLACE = { organisation: 'default', workspace: 'default' } as const
const PAGE = 200

type PinFilter = {
  upstream?: string
  listed?: true
  state?: typeof UNACCEPTED | 'accepted'
  decidedAt?: null
  id?: { in: string[] }
}

/** What a person can decide about: what is not offered, and what is with a warning. */
export function isReviewable(pin: PinRow): boolean {
  return pin.state !== 'accepted' || isWarned(pin)
}

export async function reviewable(store: Store, where: Pick<PinFilter, 'upstream'>): Promise<PinRow[]> {
  const [held, offered] = await Promise.all([
    allPins(store, { ...where, listed: true, state: UNACCEPTED }),
    allPins(store, { ...where, listed: true, state: 'accepted', decidedAt: null }),
  ])
  return [...held, ...offered].filter(isReviewable)
}

export async function allPins(store: Store, filter: PinFilter): Promise<PinRow[]> {
  const pins: PinRow[] = []
  const query = { where: { ...PLACE, ...filter }, order: { by: ['id' as const] }, limit: PAGE }
  for (let after: string | undefined; ; after = pins.at(-1)?.id) {
    const page = await store.find('pins', after === undefined ? query : { ...query, after: [after] })
    for (const pin of page) pins.push(pin)
    if (page.length < PAGE) return pins
  }
}

/** Of these, in as many questions as it takes. */
export async function allPinsIn(store: Store, upstream: string, ids: readonly string[]): Promise<PinRow[]> {
  const pins: PinRow[] = []
  for (let start = 0; start < ids.length; start += PAGE)
    pins.push(...(await allPins(store, { upstream, listed: true, id: { in: ids.slice(start, start + PAGE) } })))
  return pins
}
