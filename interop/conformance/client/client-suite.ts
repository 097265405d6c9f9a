import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, type Findings, readChecks, runToItsEnd } from '../suite.ts'

const DRIVER = fileURLToPath(new URL('./driver.mjs', import.meta.url))
/** Each is a product of its own beside the suite's servers. The suite would start all of them at the same moment. */
const AT_A_TIME = 2
const TIMEOUT_MS = 60_000

export interface ClientSuiteOptions {
  readonly revision: string
  readonly scenarios: readonly string[]
}

/** Runs scenarios against our side of an upstream connection. */
export async function runClientSuite({ revision, scenarios }: ClientSuiteOptions): Promise<Findings> {
  const findings = new Map<string, readonly Check[]>()
  const left = [...scenarios]
  const work = async () => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift())
      findings.set(scenario, await runScenario(scenario, revision))
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return findings
}

async function runScenario(scenario: string, revision: string): Promise<readonly Check[]> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(DRIVER)}`
    const what = ['--scenario', scenario, '--spec-version', revision]
    const how = ['--timeout', String(TIMEOUT_MS), '-o', folder, '--verbose']
    const output = await runToItsEnd(['client', '--command', command, ...what, ...how])
    const files = await readdir(folder, { recursive: true })
    return await readChecks(join(folder, files.find(file => file.endsWith('checks.json')) ?? 'checks.json'), output)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
