import type { EffectFinding, Sighting } from '../../../contracts/index.ts'
import type { EffectKind } from './effect-kind.ts'

type Judgement = Pick<EffectFinding, 'state' | 'reason'>

/** What two looks, before the run and now, say together. */
export function judgeEffect(witness: EffectKind['witness'], before: Sighting, now: Sighting): Judgement {
  if (now.seen === 'unclear') return unsure(now.reason ?? 'It could not be looked at.')
  return witness === 'presence' ? judgePresence(before, now) : judgeAbsence(before, now)
}

function judgePresence(before: Sighting, now: Sighting): Judgement {
  if (now.seen === 'absent') return { state: 'absent', reason: now.reason ?? 'It is not there.' }
  if (before.seen === 'absent') return { state: 'verified', reason: 'It is there, and was not before the run.' }
  if (before.seen === 'unclear')
    return unsure(`It is there, but it is not known whether it was before the run. ${before.reason ?? ''}`.trim())
  if (before.mark === now.mark || isFewer(now, before))
    return { state: 'absent', reason: 'It was there before the run already, and nothing was added to it.' }
  if (before.mark === undefined || now.mark === undefined)
    return unsure('It is there and was before the run, and nothing tells the two apart.')
  return { state: 'verified', reason: 'It is there, and not as it was before the run.' }
}

/** Somebody took something away meanwhile. That is a change, but none that a run would have made. */
function isFewer(now: Sighting, before: Sighting): boolean {
  return now.count !== undefined && before.count !== undefined && now.count < before.count
}

function judgeAbsence(before: Sighting, now: Sighting): Judgement {
  if (now.seen === 'there') return { state: 'absent', reason: now.reason ?? 'It is still there.' }
  if (before.seen === 'there') return { state: 'verified', reason: 'It was there before the run, and is gone.' }
  if (before.seen === 'absent') return unsure('It was gone before the run already, so that it is gone proves nothing.')
  return unsure(`It is gone, but it is not known whether it was there before the run. ${before.reason ?? ''}`.trim())
}

function unsure(reason: string): Judgement {
  return { state: 'indeterminate', reason }
}
