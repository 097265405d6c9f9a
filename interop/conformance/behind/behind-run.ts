import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startWithUpstreams } from '../../support/running-product.ts'
import { type Asking, judge } from '../judged-runs.ts'
import type { Findings } from '../suite.ts'

const SERVER = fileURLToPath(new URL('./server.mjs', import.meta.url))
const LONG_MS = 120_000

export type Transport = 'stdio' | 'http'

/** What is asked of us in front, and what is behind. */
export interface BehindRun extends Asking {
  /** What the server with the fixtures speaks behind us. */
  readonly era: 'legacy' | 'modern'
  readonly transport: Transport
}

/** What a project says of its own tools the owner of an upstream says in the configuration. */
const TOOLS = {
  slow_compute: { asTask: 'whenPossible', timeoutMs: LONG_MS },
  failing_job: { asTask: 'always' },
  protocol_error_job: { asTask: 'always' },
  confirm_delete: { asTask: 'whenPossible', timeoutMs: LONG_MS },
  multi_input: { asTask: 'whenPossible', timeoutMs: LONG_MS },
  test_tool_with_task: { asTask: 'always' },
}

/** The suite gives a change 1.5 s to be heard of, one right after the other; by default the second is held back for one of them. */
const SETTINGS = { announceIntervalMs: 250 }

/** Runs the suite against a product that has the fixtures from an upstream. */
export async function runBehind({ era, transport, ...asking }: BehindRun): Promise<Findings> {
  const server = await startServer(era, transport)
  try {
    const fixtures = { ...server.entry, prefix: false, newTools: 'offer', tools: TOOLS }
    const product = await startWithUpstreams({ fixtures }, 'conformance', SETTINGS)
    try {
      await product.reaches('fixtures')
      return await judge(product, asking)
    } finally {
      await product.stop()
    }
  } finally {
    server.stop()
  }
}

/** The product starts a program itself; a server that is reached by HTTP is there already. */
async function startServer(era: string, transport: Transport): Promise<{ entry: object; stop(): void }> {
  if (transport === 'stdio') return { entry: { command: process.execPath, args: [SERVER, era] }, stop() {} }
  const child = spawn(process.execPath, [SERVER, era, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { entry: { url }, stop: () => void child.kill('SIGKILL') }
}
