import type { Readable, Writable } from 'node:stream'
import { type OpenFile, runBridge } from '../adapters/mcp-bridge/index.ts'
import { createSystemClock, systemRandom } from '../adapters/system/index.ts'
import type { AppError } from '../contracts/index.ts'
import { createGatewayFinder, ownPlace } from './gateway-finder.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'

export interface ConnectOptions extends ProjectPlace {
  readonly agent: string
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
}

/** Is an MCP server on standard input and output, whose work is done by the `up` that owns the data folder. */
export async function connect(options: ConnectOptions): Promise<{ failure?: AppError }> {
  const { agent, stdin, stdout, stderr, signal, ...place } = options
  const clock = createSystemClock()
  const tell = (text: string) => void stderr.write(`quartermaster: ${text}\n`)
  const find = createGatewayFinder({ place, agent, clock, tell })
  const openFile = fileOpener(place)
  return runBridge({ openFile, input: stdin, output: stdout, clock, random: systemRandom, find, tell, signal })
}

/** We stand beside the agent, and open what it names; the data folder stays closed. Most clients never need it. */
function fileOpener(place: ProjectPlace): OpenFile {
  const open = async () => {
    const { createFileOpener } = await import('../capabilities/shared/attached-file.ts')
    return createFileOpener(await locateProject(ownPlace(place)))
  }
  let opened: ReturnType<typeof open> | undefined
  return async (request, work) => {
    opened ??= open()
    return (await opened)(request, work)
  }
}
