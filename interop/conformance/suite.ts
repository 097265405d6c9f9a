import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { node22 } from '../support/node22.ts'

const SUITE = fileURLToPath(new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url))

/** One thing the suite looked at. */
export interface Check {
  readonly id: string
  readonly name?: string
  readonly description: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
  readonly details?: unknown
}

/** What the suite found, by scenario. */
export type Findings = ReadonlyMap<string, readonly Check[]>

export interface ServerSuite {
  readonly url: string
  readonly revision: string
}

/** Runs all scenarios that a revision of the protocol asks of a server, the unscored ones included. */
export function runSuite({ url, revision }: ServerSuite): Promise<Findings> {
  return runAgainst(url, ['--requirements', revision])
}

/** Runs one of them. */
export function runScenario(scenario: string, { url, revision }: ServerSuite): Promise<Findings> {
  return runAgainst(url, ['--scenario', scenario, '--spec-version', revision, '--force'])
}

async function runAgainst(url: string, what: readonly string[]): Promise<Findings> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    const output = await runToItsEnd(['server', '--url', url, ...what, '-o', folder])
    const findings = await readFindings(folder, output)
    // Its exit code says whether something failed, which the findings say better; none at all is another matter.
    if (findings.size === 0) throw new Error(`The suite found nothing at all:\n${output}`)
    return findings
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs the suite and answers everything it said. */
export async function runToItsEnd(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(node22(), [SUITE, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return output
}

/** A folder for each scenario: `server-NAME-TIME`, the time like `2026-11-15T05-54-04-649Z`. */
const FOLDER = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/

async function readFindings(folder: string, output: string): Promise<Findings> {
  const findings = new Map<string, readonly Check[]>()
  for (const name of await readdir(folder)) {
    const scenario = FOLDER.exec(name)?.[1]
    if (scenario === undefined) continue
    findings.set(scenario, await readChecks(join(folder, name, 'checks.json'), output))
  }
  return findings
}

/** What was looked at in one scenario. */
export async function readChecks(file: string, output: string): Promise<Check[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    // A scenario that broke down writes no file; only the output tells why.
    return [{ id: 'broke-down', description: 'The scenario ran to its end', status: 'FAILURE', errorMessage: output }]
  }
}
