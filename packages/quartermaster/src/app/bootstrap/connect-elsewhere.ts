import { readFile, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Elsewhere } from '../../adapters/cli/index.ts'
import {
  checkAddress,
  connectElsewhere,
  joinWorkspace,
  readAddresses,
  serverAddress,
  type WorkspaceAddress,
} from '../../adapters/elsewhere/index.ts'
import type { OpenFiles } from '../../adapters/mcp-bridge/index.ts'
import { createIds, createSystemClock, systemRandom } from '../../adapters/system/index.ts'
import { AppError, type Finding } from '../../contracts/index.ts'
import { memoize } from '../../core/kernel/index.ts'
import { VERSION } from '../package-info.ts'

export interface ElsewhereOptions extends Elsewhere {
  /** The folder from which paths are meant, and whose files can be attached. */
  readonly from: string
  readonly env: Readonly<Record<string, string | undefined>>
}

interface ServeOptions extends ElsewhereOptions {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly signal: AbortSignal
  /** Where they were read already. */
  readonly addresses?: readonly WorkspaceAddress[]
}

/** Serves MCP on standard input and output, of workspaces on other machines. */
export async function serveElsewhere(options: ServeOptions): Promise<{ failure?: AppError }> {
  const { from, stdin, stdout, stderr, signal, addresses = await addressesOf(options) } = options
  const ids = createIds()
  return connectElsewhere({
    addresses,
    input: stdin,
    output: stdout,
    version: VERSION,
    clock: createSystemClock(),
    random: systemRandom,
    createKey: () => ids.next('connect'),
    filesDir: from,
    openFiles: filesOpener(options),
    tell: text => void stderr.write(`quartermaster: ${text}\n`),
    signal,
  })
}

/** What works at each of the addresses, and what to do about the rest. */
export async function lookElsewhere(
  options: ElsewhereOptions,
  { signal }: { signal: AbortSignal },
): Promise<Finding[]> {
  const addresses = await addressesOf(options)
  const clock = createSystemClock()
  const ids = new Map<string, string>()
  const check = (address: WorkspaceAddress) => checkAddress(address, { clock, signal, version: VERSION, ids })
  return (await Promise.all(addresses.map(check))).flat()
}

/** Redeems a join code. */
export function joinElsewhere(
  { url, isInsecure, ...joining }: { url: string; code: string; name?: string; isInsecure?: boolean },
  { signal }: { signal: AbortSignal },
) {
  return joinWorkspace(serverAddress(url, { isInsecure }), joining, signal)
}

export function addressesOf({ from, ...options }: ElsewhereOptions) {
  return readAddresses({ ...options, readFile: path => readFile(resolve(from, path), 'utf8') })
}

/** Most clients never attach a file. */
function filesOpener({ from, env }: ElsewhereOptions): OpenFiles {
  const secret = ['QUARTERMASTER_TOKEN_FILE', 'QUARTERMASTER_WORKSPACES_FILE'].flatMap(name => env[name] ?? [])
  const open = memoize(async () => {
    const { createFilesOpener } = await import('../../capabilities/shared/attachments.ts')
    return createFilesOpener({ projectDir: from, dataDir: resolve(from, '.quartermaster') })
  })
  return async (request, work) => {
    const kept = await Promise.all(secret.map(path => placeOf(from, path)))
    for (const path of request.paths)
      if (kept.includes(await placeOf(request.folder, path)))
        throw new AppError('INPUT_INVALID', `"${path}" holds tokens of this agent. Nothing was sent.`)
    return (await open())(request, work)
  }
}

/** Where a file is, whatever links lead there. */
async function placeOf(folder: string, path: string): Promise<string> {
  const place = resolve(folder, path)
  return realpath(place).catch(() => place)
}
