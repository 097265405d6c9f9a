import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeProject, quartermaster, startUpProcess, type UpProcess } from './product.ts'

/** One `up` of several on a database, with a folder of its own. */
export interface Node {
  readonly up: UpProcess
  readonly dir: string
  /** One operation of the control API. */
  control<T>(operation: string, input?: Record<string, unknown>): Promise<T>
  run(...args: string[]): ReturnType<typeof quartermaster>
}

export interface NodeOptions {
  readonly files: Record<string, string>
  /** Of this one alone. */
  readonly env?: Record<string, string>
}

/** Starts nodes on one database, which all have the key of the first. */
export function nodesOn(databaseUrl: string): (options: NodeOptions) => Promise<Node> {
  const shared: Record<string, string> = { DATABASE_URL: databaseUrl }
  return async ({ files, env: own = {} }) => {
    const dir = await makeProject(files)
    const up = await startUpProcess(dir, [], { ...shared, ...own })
    const secret = async (file: string) => (await readFile(join(dir, '.quartermaster', file), 'utf8')).trim()
    const token = await secret('admin-token')
    shared.QUARTERMASTER_SEALING_KEY ??= await secret('sealing-key')
    const control: Node['control'] = async (operation, input = {}) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close' }
      const request = { method: 'POST', headers, body: JSON.stringify(input) }
      return (await fetch(`${up.url}/api/v1/control/${operation}`, request)).json() as never
    }
    return { up, dir, control, run: (...args) => quartermaster(args, { cwd: dir, env: shared }) }
  }
}

/** Ends it without a word. */
export function kill({ up }: Node): Promise<void> {
  return up.kill()
}

/** Whether a node lets this token in. One that was made on another node is heard of a moment later. */
export async function letsIn({ up }: { readonly up: Pick<UpProcess, 'url'> }, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}`, connection: 'close' }
  return (await fetch(`${up.url}/mcp`, { headers })).status !== 401
}
