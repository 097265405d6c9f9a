import type { RemoteToolboxOptions } from '../adapters/mcp-toolbox/index.ts'
import type { Toolbox } from '../contracts/index.ts'

/** The tools of the agent whose token this is, behind a running `up`: the same as in its process. */
export async function openToolbox(options: RemoteToolboxOptions): Promise<Toolbox> {
  // Loaded here and not above: project code imports this package as well, and needs no client.
  const { connectToolbox } = await import('../adapters/mcp-toolbox/index.ts')
  return connectToolbox(options)
}
