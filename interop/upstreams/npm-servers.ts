import { fileURLToPath } from 'node:url'

const STILL_CLOCK = new URL('./still-clock.mjs', import.meta.url).href

/** A server from npm as an entry of `mcpServers`. */
export interface NpmServer {
  readonly command: string
  readonly args: readonly string[]
}

/** One of the reference servers, in the version of the lockfile. */
export function npmServer(name: string, ...args: readonly string[]): NpmServer {
  const program = new URL(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url)
  return { command: process.execPath, args: ['--import', STILL_CLOCK, fileURLToPath(program), ...args] }
}
