import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, type Findings, readChecks, runToItsEnd } from '../suite.ts'
import { openFixture } from './desk.ts'

const DRIVER = fileURLToPath(new URL('./driver.mjs', import.meta.url))
/** The suite starts all at the same moment, so the last has waited for all others. */
const TIMEOUT_MS = 300_000

export interface ClientSuiteOptions {
  readonly revision: string
  readonly scenarios: readonly string[]
}

/** Runs scenarios against our side of an upstream connection. */
export async function runClientSuite({ revision, scenarios }: ClientSuiteOptions): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  const desk = await openFixture(scenarios)
  try {
    const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(DRIVER)}`
    const args = ['--requirements', revision, '--timeout', String(TIMEOUT_MS), '-o', folder, '--verbose']
    const output = await runToItsEnd(['client', '--command', command, ...args], { CONFORMANCE_DESK: desk.url })
    return await findingsIn(folder, output)
  } finally {
    await desk.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A file for each scenario that was run: `NAME-TIME/checks.json`, the name itself with a slash in it or not. */
const FILE = /^(.+)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/

async function findingsIn(folder: string, output: string): Promise<Findings> {
  const findings = new Map<string, readonly Check[]>()
  for (const file of await readdir(folder, { recursive: true })) {
    const scenario = FILE.exec(file)?.[1]
    if (scenario !== undefined) findings.set(scenario, await readChecks(join(folder, file), output))
  }
  return findings
}
