import { beforeAll, expect, it } from 'vitest'
import type { RunningProduct } from '../support/running-product.ts'
import { startTokenProxy } from '../support/token-proxy.ts'
import { type Remarks, SCENARIOS } from './scenarios.ts'
import { type Check, type Findings, runScenario, runSuite } from './suite.ts'

export type Revision = keyof typeof SCENARIOS

/** What of the suite is run. */
export interface Asking {
  readonly revision: Revision
  /** One scenario alone; all of them when absent. */
  readonly only?: string
  /** Scenarios that no revision asks for: those of extensions. */
  readonly beside?: readonly string[]
}

/** One run of the suite. */
export interface Run extends Asking {
  /** What it may say, by scenario. */
  readonly remarks: Remarks
}

/** The suite mostly waits. More runs than these would wait for the processor, and then for their own time limits. */
const AT_A_TIME = 4

/**
 * `server-stateless` gives a change 1.5 s to be heard of, which a busy machine may need for itself; `tools-list` can say nothing
 * while another scenario's change is still on its way. They are asked again when all runs are over, each time of a product
 * that nobody has asked before, and what they object to counts when they object every time.
 */
const DISTURBED = ['server-stateless', 'tools-list']
const MOST_ASKED = 4

/** Runs the suite as often as the table says, before the tests of this file, and answers what was found in a run. */
export function findingsOf<R extends Run>(runs: readonly R[], find: (run: R) => Promise<Findings>) {
  const ends = new Map<R, PromiseSettledResult<Findings>>()

  beforeAll(async () => {
    const left = [...runs]
    const work = async () => {
      for (let run = left.shift(); run !== undefined; run = left.shift()) {
        // A run that breaks down is a matter of its own tests; the others go on.
        const [end] = await Promise.allSettled([find(run)])
        ends.set(run, end)
      }
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, work))
    for (const [run, end] of ends) if (end.status === 'fulfilled') await askAgain(run, end.value)
  })

  async function askAgain(run: R, said: Findings): Promise<void> {
    const findings = new Map(said)
    for (const only of DISTURBED) {
      const doesObject = () => findings.get(only)?.some(isObjection)
      for (let asked = 1; asked < MOST_ASKED && doesObject(); asked++) {
        for (const [scenario, checks] of await find({ ...run, only })) findings.set(scenario, checks)
      }
    }
    ends.set(run, { status: 'fulfilled', value: findings })
  }

  return (run: R): Findings => {
    const end = ends.get(run)
    if (end?.status === 'rejected') throw end.reason
    return end?.value ?? new Map()
  }
}

/** Every scenario of a run as one test. */
export function expectNothingAgainst({ revision, beside = [], remarks }: Run, findings: () => Findings): void {
  const scenarios: readonly string[] = [...SCENARIOS[revision], ...beside]
  // A run that broke down is told once, not once for every scenario.
  beforeAll(() => void findings())

  it('runs these scenarios and no others', () => {
    expect([...findings().keys()].sort()).toEqual([...scenarios].sort())
  })

  const objectionsTo = (scenario: string) => (findings().get(scenario) ?? []).filter(isObjection)
  const [known, clean] = [true, false].map(is => scenarios.filter(name => Object.hasOwn(remarks, name) === is))

  it.each(clean ?? [])('has nothing to say against %s', scenario => {
    expect(objectionsTo(scenario)).toEqual([])
  })

  // A name that says otherwise would hide that the suite does object.
  it.each(known ?? [])('says against %s what is written down, and nothing else', scenario => {
    expect(objectionsTo(scenario).map(nameOf)).toEqual(remarks[scenario])
  })
}

/** What failed, was warned about, or was skipped and so not shown to work. */
const isObjection = ({ status }: Check) => status === 'FAILURE' || status === 'WARNING' || status === 'SKIPPED'

const nameOf = ({ status, id }: Check) => `${status} ${id}`

/** What the suite says to a running product that has its fixtures. */
export async function judge(product: RunningProduct, { revision, only, beside = [] }: Asking): Promise<Findings> {
  const { token } = await product.issue('conformance')
  const proxy = await startTokenProxy({ target: product.url, token })
  const against = { url: `${proxy.url}/mcp`, revision }
  const wanted = only === undefined ? beside : []
  try {
    const findings = [await (only === undefined ? runSuite(against) : runScenario(only, against))]
    for (const scenario of wanted) findings.push(await runScenario(scenario, against))
    return new Map(findings.flatMap(found => [...found]))
  } finally {
    await proxy.stop()
  }
}
