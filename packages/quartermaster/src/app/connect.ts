import type { Readable, Writable } from 'node:stream'
import { type OpenFiles, runBridge } from '../adapters/mcp-bridge/index.ts'
import { createIds, createSystemClock, systemRandom } from '../adapters/system/index.ts'
import type { AppError } from '../contracts/index.ts'
import { createGatewayFinder, ownPlace } from './gateway-finder.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'

export interface ConnectOptions extends ProjectPlace {
  readonly agent: string
  readonly organisation?: string | undefined
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
}

/** Is an MCP server on standard input and output, whose work is done by the `up` that owns the data folder. */
export async function connect(options: ConnectOptions): Promise<{ failure?: AppError }> {
  const { agent, organisation, stdin, stdout, stderr, signal, ...place } = options
  const clock = createSystemClock()
  const tell = (text: string) => void stderr.write(`quartermaster: ${text}\n`)
  const find = createGatewayFinder({ place, agent, organisation, clock, tell })
  const ids = createIds()
  return runBridge({
    input: stdin,
    output: stdout,
    clock,
    random: systemRandom,
    find,
    command: startCommand(place),
    createKey: () => ids.next('connect'),
    openFiles: filesOpener(place),
    tell,
    signal,
  })
}

/** What a person types to start the `up` that is looked for. */
function startCommand(given: ProjectPlace): string {
  const { from, config, data } = ownPlace(given)
  const named = [...(config === undefined ? [] : ['--config', config]), ...(data === undefined ? [] : ['--data', data])]
  return `${['quartermaster', 'up', ...named].join(' ')} (in ${from})`
}

/** We stand beside the agent, and open what it names; the data folder stays closed. Most clients never need it. */
function filesOpener(place: ProjectPlace): OpenFiles {
  const open = async () => {
    const { createFilesOpener } = await import('../capabilities/shared/attached-files.ts')
    return createFilesOpener(await locateProject(ownPlace(place)))
  }
  let opened: ReturnType<typeof open> | undefined
  return async (request, work) => {
    opened ??= open()
    return (await opened)(request, work)
  }
}
