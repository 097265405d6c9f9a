import type { PinRow, UpstreamFinding } from '../../contracts/index.ts'
import { isSuspicious, type PinPolicy } from './verdict.ts'

/** A pin in which more is found than before. */
export interface SecondFinding {
  readonly before: PinRow
  readonly findings: readonly UpstreamFinding[]
  readonly state: PinRow['state']
}

/**
 * What becomes of a pin that was looked at again because there are tools that it speaks of. What is offered stays so unless it
 * speaks of them as nobody should; what was found before was found. Nothing where there is nothing new.
 */
export function lookedAgain(
  before: PinRow,
  found: readonly UpstreamFinding[],
  policy: PinPolicy,
): SecondFinding | undefined {
  const known = new Set(before.findings.map(keyOf))
  const fresh = found.filter(finding => OF_NAMES.has(finding.rule) && !known.has(keyOf(finding)))
  if (fresh.length === 0) return undefined
  const again = new Set(found.map(placeOf))
  const findings = [...found, ...before.findings.filter(finding => !again.has(placeOf(finding)))].slice(0, MOST)
  const isHeld = before.state === 'accepted' && policy.findings === 'hold' && isSuspicious(fresh)
  return { before, findings, state: isHeld ? 'pending' : before.state }
}

/** What depends on which tools there are. */
const OF_NAMES: ReadonlySet<UpstreamFinding['rule']> = new Set(['otherTool', 'lookalike'])
/** As many as are told of any definition. */
const MOST = 20

const placeOf = ({ rule, field, message }: UpstreamFinding) => `${rule} ${field} ${message}`
const keyOf = (finding: UpstreamFinding) => `${finding.strength} ${placeOf(finding)}`
