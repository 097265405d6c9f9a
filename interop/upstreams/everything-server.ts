import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type NpmServer, steadyNpmServer } from './npm-servers.ts'

/** A server-everything of which all is known that it is sent. */
export interface EverythingServer {
  /** Its entry in `mcpServers`: over stdio whoever uses it starts it, over HTTP it is there. */
  readonly entry: NpmServer | { readonly url: string }
  /** The messages that it has been sent so far. */
  heard(): Promise<Heard[]>
  stop(): Promise<void>
}

export interface Heard {
  readonly id?: unknown
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

export async function openEverythingServer(transport: 'stdio' | 'http'): Promise<EverythingServer> {
  const folder = await mkdtemp(join(tmpdir(), 'everything-'))
  const heard = join(folder, 'heard')
  const started = transport === 'http' ? await startOverHttp(heard) : undefined
  return {
    entry: started ? { url: started.url } : steadyNpmServer('everything', { heard }),
    async heard() {
      const lines = (await readFile(heard, 'utf8')).split('\n')
      return lines.filter(line => line !== '').map(line => JSON.parse(line))
    },
    async stop() {
      started?.child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startOverHttp(heard: string): Promise<{ child: ChildProcess; url: string }> {
  const { command, args } = steadyNpmServer('everything', { heard, args: ['streamableHttp'] })
  const env = { ...process.env, PORT: '0' }
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const line of createInterface({ input: child.stderr })) {
    const port = /^It listens at port (\d+)\.$/.exec(line)?.[1]
    if (port !== undefined) return { child, url: `http://127.0.0.1:${port}/mcp` }
  }
  throw new Error('server-everything ended before it listened.')
}
