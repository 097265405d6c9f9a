import { beforeAll, describe, expect, it } from 'vitest'
import type { Check, Findings } from '../suite.ts'
import { runClientSuite } from './client-suite.ts'
import { CLIENT_SCENARIOS } from './scenarios.ts'

describe.each(['2025-11-25', '2026-07-28'] as const)(
  'the conformance suite for MCP %s, its server as our upstream',
  revision => {
    let findings: Findings

    beforeAll(async () => {
      findings = await runClientSuite({ revision, scenarios: CLIENT_SCENARIOS[revision] })
    }, 900_000)

    it.each(CLIENT_SCENARIOS[revision])('has nothing to say against %s', scenario => {
      const checks = findings.get(scenario) ?? []
      expect(checks.length).toBeGreaterThan(0)
      expect(checks.filter(isObjection)).toEqual([])
    })
  },
)

const isObjection = ({ status }: Check) => status === 'FAILURE' || status === 'WARNING' || status === 'SKIPPED'
