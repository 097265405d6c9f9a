import { describe } from 'vitest'
import { expectNothingAgainst, findingsOf } from '../judged-runs.ts'
import { REMARKS, REMARKS_ACROSS_ERAS } from '../scenarios.ts'
import { runBehind } from './behind-run.ts'

const RUNS = (['2025-11-25', '2026-07-28'] as const).flatMap(revision =>
  (['legacy', 'modern'] as const).flatMap(era =>
    transportsFor(revision, era).map(transport => {
      const isAcross = revision === '2026-07-28' && era === 'legacy'
      return { revision, era, transport, remarks: isAcross ? REMARKS_ACROSS_ERAS : REMARKS }
    }),
  ),
)

/** Across eras the transport changes nothing that was not tried within one. */
function transportsFor(revision: string, era: 'legacy' | 'modern'): readonly ('stdio' | 'http')[] {
  return (revision === '2026-07-28') === (era === 'modern') ? ['stdio', 'http'] : ['stdio']
}

const findings = findingsOf(RUNS, runBehind)

describe.each(RUNS)('the conformance suite for MCP $revision, its fixtures in a $era upstream over $transport', run => {
  expectNothingAgainst(run, () => findings(run))
})
