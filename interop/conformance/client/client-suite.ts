import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Check, type Findings, readChecks, runToItsEnd } from '../suite.ts'
import { openDesk } from './desk.ts'

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
  const desk = await openDesk(scenarios)
  try {
    const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(DRIVER)}`
    const args = ['--requirements', revision, '--timeout', String(TIMEOUT_MS), '-o', folder, '--verbose']
    const output = await runToItsEnd(['client', '--command', command, ...args], { CONFORMANCE_DESK: desk.url })
    return await findingsIn(folder, { scenarios, output })
  } finally {
    await desk.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function findingsIn(
  folder: string,
  { scenarios, output }: { scenarios: readonly string[]; output: string },
): Promise<Findings> {
  const files = (await readdir(folder, { recursive: true })).filter(file => file.endsWith('checks.json'))
  const findings = new Map<string, readonly Check[]>()
  for (const scenario of scenarios) {
    // A folder for each, its name and the time in its path.
    const file = files.find(path => path.startsWith(`${scenario}-2`))
    findings.set(scenario, await readChecks(join(folder, file ?? 'missing'), output))
  }
  return findings
}
