import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningProduct, startProduct } from '../support/running-product.ts'
import { startTokenProxy, type TokenProxy } from '../support/token-proxy.ts'
import { REMARKS, SCENARIOS } from './scenarios.ts'
import { type Check, type Findings, runSuite } from './suite.ts'

const PROJECT = fileURLToPath(new URL('./project', import.meta.url))

/** Tool calls of 2026-07-28 have two ways through the server, and both are judged. */
const RUNS = [
  ['2025-11-25', 'as it comes', {}],
  ['2026-07-28', 'as it comes', {}],
  ['2026-07-28', 'without direct calls', { directCalls: false }],
] as const

describe.each(RUNS)('the conformance suite for MCP %s, the server %s', (revision, _how, settings) => {
  let product: RunningProduct
  let proxy: TokenProxy
  let findings: Findings

  beforeAll(async () => {
    product = await startProduct(PROJECT, settings)
    const { token } = await product.issue('conformance')
    proxy = await startTokenProxy({ target: product.url, token })
    findings = await runSuite({ url: `${proxy.url}/mcp`, revision })
  })
  afterAll(async () => {
    await proxy?.stop()
    await product?.stop()
  })

  it('runs these scenarios and no others', () => {
    expect([...findings.keys()].sort()).toEqual([...SCENARIOS[revision]].sort())
  })

  it.each(SCENARIOS[revision])('has nothing to say against %s', scenario => {
    const checks = findings.get(scenario) ?? []
    expect(checks.filter(isFailure)).toEqual([])
    expect(checks.filter(isRemark).map(({ status, id }) => `${status} ${id}`)).toEqual(REMARKS[scenario] ?? [])
  })
})

const isFailure = ({ status }: Check) => status === 'FAILURE'

/** What was warned about, or skipped and so not shown to work. */
const isRemark = ({ status }: Check) => status === 'WARNING' || status === 'SKIPPED'
