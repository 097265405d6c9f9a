import type { Readable, Writable } from 'node:stream'
import { runBridge } from '../adapters/mcp-bridge/index.ts'
import { createSystemClock, systemRandom } from '../adapters/system/index.ts'
import type { AppError } from '../contracts/index.ts'
import { createGatewayFinder } from './gateway-finder.ts'
import type { ProjectPlace } from './locate-project.ts'

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
  return runBridge({ input: stdin, output: stdout, clock, random: systemRandom, find, tell, signal })
}
