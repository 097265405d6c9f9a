import { fileURLToPath } from 'node:url'

/** A server from npm as an entry of `mcpServers`. */
export interface NpmServer {
  readonly command: string
  readonly args: readonly string[]
}

/** One of the reference servers, in the version of the lockfile. */
export function npmServer(name: string, ...args: readonly string[]): NpmServer {
  return { command: process.execPath, args: [programOf(name), ...args] }
}

/** The same where it answers and tells the same whenever it is asked. What it hears is kept in a file. */
export function steadyNpmServer(name: string, { heard, args = [] }: { heard: string; args?: string[] }): NpmServer {
  const steady = new URL(`./steady.mjs?${new URLSearchParams({ heard })}`, import.meta.url)
  return { command: process.execPath, args: ['--import', steady.href, programOf(name), ...args] }
}

const programOf = (name: string) =>
  fileURLToPath(new URL(`../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url))
