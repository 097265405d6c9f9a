import { fileURLToPath } from 'node:url'
import { describe } from 'vitest'
import { startProduct } from '../support/running-product.ts'
import { expectNothingAgainst, findingsOf, judge } from './judged-runs.ts'
import { REMARKS, REMARKS_ON_OLD_SKILLS, REMARKS_ON_STREAMS, SKILLS } from './scenarios.ts'

const PROJECT = fileURLToPath(new URL('./project', import.meta.url))

/** Ordinary tool calls have two ways through the server, and both are judged. */
const RUNS = [
  {
    revision: '2025-11-25',
    how: 'as it comes',
    settings: {},
    beside: SKILLS,
    remarks: { ...REMARKS, ...REMARKS_ON_OLD_SKILLS },
  },
  {
    revision: '2025-11-25',
    how: 'without direct calls',
    settings: { directCalls: false },
    remarks: REMARKS_ON_STREAMS,
  },
  { revision: '2026-07-28', how: 'as it comes', settings: {}, beside: SKILLS, remarks: REMARKS },
  { revision: '2026-07-28', how: 'without direct calls', settings: { directCalls: false }, remarks: REMARKS },
] as const

const findings = findingsOf(RUNS, async ({ settings, ...asking }) => {
  const product = await startProduct(PROJECT, settings)
  return judge(product, asking).finally(product.stop)
})

describe.each(RUNS)('the conformance suite for MCP $revision, the server $how', run => {
  expectNothingAgainst(run, () => findings(run))
})
