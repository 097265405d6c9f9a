// @ts-check
// The gateways that others wrote, as their own pages say to run them, on this machine alone where they can be told to.
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from '../lib/server-process.mjs'

/** @typedef {import('../lib/server-process.mjs').ServerProcess} ServerProcess */
/** @typedef {import('./pipe.mjs').Command} Command */

/** A server as configurations of MCP clients name it. @typedef {{ command: string, args: string[] } | { url: string }} Behind */
/** @typedef {Record<string, Behind>} Servers */

/** @typedef {{ args: string[], env?: Record<string, string> }} Start */

/** The variable that says to leave them out. */
export const WITHOUT_PEERS = 'BENCH_WITHOUT_PEERS'

const MODULES = new URL('peers/node_modules/', import.meta.url)

/** A real server to put behind all of them. @type {Command} */
export const EVERYTHING = [
  process.execPath,
  modulePath('@modelcontextprotocol/server-everything/dist/index.js'),
  'stdio',
]

const PEERS = {
  /** @param {{ port: number, servers: Servers }} setting @returns {Start} */
  supergateway({ port, servers }) {
    const stdio = onlyProgram(servers).map(quoted).join(' ')
    const flags = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none']
    return { args: [modulePath('supergateway/dist/index.js'), '--stdio', stdio, '--port', String(port), ...flags] }
  },
  /** @param {{ port: number, servers: Servers }} setting @returns {Start} */
  'mcp-proxy'({ port, servers }) {
    const flags = ['--host', '127.0.0.1', '--server', 'stream', '--upstreamProtocol', 'auto']
    const file = modulePath('mcp-proxy/dist/bin/mcp-proxy.mjs')
    return { args: [file, '--port', String(port), ...flags, '--', ...onlyProgram(servers)] }
  },
  /** @param {{ port: number, folder: string }} setting @returns {Start} */
  'mcp-hub'({ port, folder }) {
    const args = [modulePath('mcp-hub/dist/cli.js'), '--port', String(port), '--config', join(folder, 'servers.json')]
    // It keeps its log and a list of running hubs at home.
    return { args, env: { HOME: folder, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder } }
  },
}

/** @typedef {keyof typeof PEERS} PeerName */

/**
 * Starts one in front of the servers, and waits until it is ready.
 * @param {PeerName} name
 * @param {{ servers: Servers, isReady: (url: string) => Promise<boolean> }} options
 * @returns {Promise<ServerProcess>}
 */
export async function startPeer(name, { servers, isReady }) {
  requirePeer(name)
  const folder = await mkdtemp(join(tmpdir(), 'bench-upstreams-'))
  const forget = () => rm(folder, { recursive: true, force: true })
  try {
    await writeFile(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers }))
    const port = await freePort()
    const start = PEERS[name]({ port, servers, folder })
    const server = await startServer({ ...start, cwd: folder, knownUrl: `http://127.0.0.1:${port}`, isReady })
    return { ...server, stop: () => server.stop().then(forget) }
  } catch (error) {
    await forget()
    throw error
  }
}

/**
 * Throws where a package is not to be had.
 * @param {string} name
 */
export function requirePeer(name) {
  if (process.env[WITHOUT_PEERS] !== undefined) throw new Error('It was left out.')
  if (!existsSync(new URL(name, MODULES))) throw new Error('It is not installed.')
}

/** A port that nobody has now. */
export async function freePort() {
  const server = createServer()
  await new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const address = server.address()
  await new Promise(resolve => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

/** @param {string} path */
function modulePath(path) {
  return fileURLToPath(new URL(path, MODULES))
}

/**
 * The one program, for a gateway that takes one.
 * @param {Servers} servers
 */
function onlyProgram(servers) {
  const [one, ...more] = Object.values(servers)
  if (!one || !('command' in one) || more.length > 0) throw new Error('It stands in front of one program.')
  return [one.command, ...one.args]
}

/** @param {string} word */
const quoted = word => `'${word.replaceAll("'", "'\\''")}'`
