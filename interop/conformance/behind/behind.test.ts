import { describe } from 'vitest'
import { expectNothingAgainst, findingsOf } from '../judged-runs.ts'
import { REMARKS, REMARKS_ACROSS_ERAS } from '../scenarios.ts'
import { runBehind } from './behind-run.ts'

const RUNS = (['2025-11-25', '2026-07-28'] as const).flatMap(revision =>
  (['legacy', 'modern'] as const).flatMap(era => {
    const isAcross = revision === '2026-07-28' && era === 'legacy'
    const remarks = isAcross ? REMARKS_ACROSS_ERAS : REMARKS
    return (['stdio', 'http'] as const).map(transport => ({ revision, era, transport, remarks }))
  }),
)

const findings = findingsOf(RUNS, runBehind)

describe.each(RUNS)('the conformance suite for MCP $revision, its fixtures in a $era upstream over $transport', run => {
  expectNothingAgainst(run, () => findings(run))
})
