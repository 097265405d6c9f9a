import { createInterface } from 'node:readline/promises'
import { type CliHost, type CliIo, runCli, type UpOptions, type UpStarted } from '../adapters/cli/index.ts'
import { initProject } from '../adapters/project-files/index.ts'
import { createJsonLog, createSystemClock } from '../adapters/system/index.ts'
import { SETTINGS, type Settings } from '../contracts/index.ts'
import type { Log } from '../core/kernel/index.ts'
import { openControl } from './open-control.ts'
import { VERSION } from './version.ts'

/** Runs the command line of this process and answers its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  process.setSourceMapsEnabled(true)
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // Asked twice, someone is in a hurry.
      if (stopping.signal.aborted) process.exit(130)
      stopping.abort(new Error(`Stopped by ${signal}.`))
    })
  }
  return runCli(argv, createHost(stopping.signal))
}

function createHost(signal: AbortSignal): CliHost {
  const { env } = process
  const cwd = process.cwd()
  const quiet = processLog('warn')
  return {
    version: VERSION,
    io: processIo(),
    cwd,
    signal,
    clock: createSystemClock(),
    openControl: options => openControl({ from: cwd, ...options, env, log: quiet }),
    up: options => up(options, cwd),
    init: ({ dir }) => initProject({ dir }),
  }
}

async function up(options: UpOptions, cwd: string): Promise<UpStarted> {
  // Only this command needs a server.
  const { serve } = await import('./serve.ts')
  const { host, port, config, data, signal } = options
  const log = processLog(logLevel())
  const serving = await serve({
    from: cwd,
    host,
    port,
    config,
    data,
    signal,
    env: process.env,
    log,
    onEvent(name, event) {
      if (name === 'call.settled') log.info('call', event as never)
      else options.onEvent({ name, event } as never)
    },
  })
  return { url: serving.url, status: await serving.status(), closed: serving.closed }
}

function logLevel(): Settings['logLevel'] {
  const given = SETTINGS.logLevel.schema.safeParse(process.env[SETTINGS.logLevel.env])
  return given.success ? given.data : SETTINGS.logLevel.default
}

function processLog(level: Settings['logLevel']): Log {
  return createJsonLog({ write: line => void process.stderr.write(line), level: () => level })
}

function processIo(): CliIo {
  const { stdin, stdout, stderr, env } = process
  return {
    stdout: outputOf(stdout),
    stderr: outputOf(stderr),
    stdin: {
      isTTY: stdin.isTTY ?? false,
      async read() {
        const parts: Buffer[] = []
        for await (const part of stdin) parts.push(part as Buffer)
        return Buffer.concat(parts).toString('utf8')
      },
      async question(prompt, { signal }) {
        const reader = createInterface({ input: stdin, output: stderr })
        try {
          return await reader.question(prompt, { signal })
        } finally {
          reader.close()
        }
      },
    },
    env,
  }
}

function outputOf(stream: NodeJS.WriteStream): CliIo['stdout'] {
  return {
    write: text =>
      new Promise((resolve, reject) => {
        stream.write(text, error => (error ? reject(error) : resolve()))
      }),
    get isTTY() {
      return stream.isTTY ?? false
    },
    get columns() {
      return stream.columns
    },
  }
}
