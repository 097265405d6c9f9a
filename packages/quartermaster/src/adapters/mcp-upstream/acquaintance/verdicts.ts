import { messageOf, type UpstreamConfig } from '../../../contracts/index.ts'
import type { Listing, OtherNames, PinBook, ReviewedListing } from '../../../core/upstreams/index.ts'
import type { Offer } from '../offer/offer.ts'

/** What is seen, remembered and decided of an upstream: one after the other, so that the last word is the newest. */
export interface Verdicts {
  /** Takes what is remembered, unless there is something newer already. */
  recall(): Promise<void>
  /** Takes what a server lists. Answers whether anything had changed. */
  see(listing: Listing, others: OtherNames): Promise<boolean>
  /** There are tools of others that were not there when it was seen: what it says of them is looked at again. */
  lookAgain(): Promise<void>
  /** What it offers may have other names now. Nobody waits for it. */
  renamed(): void
  /** A person decides about something of it. */
  review<T>(decide: () => Promise<T>): Promise<T>
  /** Resolves when nothing is being taken any more. */
  settled(): Promise<unknown>
}

export interface VerdictsDeps {
  readonly name: string
  readonly pins: Pick<PinBook, 'recall' | 'see' | 'lookAgain' | 'claim'>
  readonly offer: Offer
  config(): UpstreamConfig
  /** Names of tools that are not its own, once they are known. */
  otherTools(): Promise<OtherNames>
  /** A reload would find something new. */
  onChange(): void
  note(text: string): void
}

export function createVerdicts(deps: VerdictsDeps): Verdicts {
  const { name, pins, offer, config, onChange, note } = deps
  let again: Promise<void> | undefined
  let turns: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = turns.then(work)
    turns = turn.catch(() => {})
    return turn
  }

  async function take(verdict: ReviewedListing | undefined): Promise<boolean> {
    const isNew = verdict !== undefined && (await offer.take(verdict))
    if (isNew) onChange()
    await keepNames()
    return isNew
  }

  /** Another process has written down other names or times. Those count. */
  async function takeRecorded(): Promise<void> {
    const verdict = await pins.recall(name, config())
    if (verdict && (await offer.take(verdict))) onChange()
  }

  /** For the next start: who has a name then is who has it now. */
  async function keepNames(): Promise<void> {
    const changes = offer.claims.unwritten()
    if (changes.length === 0) return
    try {
      if (await pins.claim(name, changes)) offer.claims.wrote(changes)
      else await takeRecorded()
    } catch (error) {
      // Until then it is known here.
      note(`Since when it has its names could not be written down: ${messageOf(error)}`)
    }
  }

  async function lookAgain(): Promise<void> {
    again = undefined
    // What nobody has seen yet is looked at when it is.
    if (!offer.verdict()) return
    const verdict = await pins.lookAgain({ upstream: name, policy: config(), others: await deps.otherTools() })
    await take(verdict)
  }

  return {
    recall: () =>
      inTurn(async () => {
        const verdict = await pins.recall(name, config())
        if (!verdict || offer.verdict()) return
        await offer.take(verdict)
        await keepNames()
      }),
    renamed: () => void inTurn(keepNames),
    see: (listing, others) =>
      inTurn(async () => take(await pins.see({ upstream: name, listing, policy: config(), others }))),
    lookAgain() {
      // Who comes while one waits for its turn is served by it.
      again ??= inTurn(lookAgain).catch(error => {
        note(`What it says of tools of others could not be looked at again: ${messageOf(error)}`)
      })
      return again
    },
    review: decide =>
      inTurn(async () => {
        const decided = await decide()
        await take(await pins.recall(name, config()))
        return decided
      }),
    settled: () => turns,
  }
}
