import { beforeAll, describe, expect, it } from 'vitest'
import type { Check, Findings } from '../suite.ts'
import { runClientSuite } from './client-suite.ts'
import { CLIENT_SCENARIOS, EXTENSIONS } from './scenarios.ts'

/** Says of every scenario of a revision that the suite has nothing against our side of an upstream connection. */
export function judgeClient(revision: keyof typeof CLIENT_SCENARIOS): void {
  describe(`the conformance suite for MCP ${revision}, its server as our upstream`, () => {
    let findings: Findings

    beforeAll(async () => {
      findings = await runClientSuite({ revision, scenarios: CLIENT_SCENARIOS[revision] })
    })

    it('runs these scenarios, those that nobody drives, and no others', () => {
      expect([...findings.keys()].sort()).toEqual([...CLIENT_SCENARIOS[revision], ...EXTENSIONS].sort())
    })

    it.each(CLIENT_SCENARIOS[revision])('has nothing to say against %s', scenario => {
      const checks = findings.get(scenario) ?? []
      expect(checks.length).toBeGreaterThan(0)
      expect(checks.filter(isObjection)).toEqual([])
    })
  })
}

/** What was not tried was not shown. Of what a revision no longer has there is nothing to try. */
function isObjection({ status, name }: Check): boolean {
  if (status === 'SKIPPED') return !GONE.test(name ?? '')
  return status === 'FAILURE' || status === 'WARNING'
}

const GONE = /^ClientMcpMethodHeader_(?:initialize|notifications_initialized)$/
