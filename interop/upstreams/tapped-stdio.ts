import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setImmediate as breathe } from 'node:timers/promises'
import type { Transport } from '@modelcontextprotocol/client'
import type { WireTap } from '../../packages/quartermaster/test/support/wire-tap.ts'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
}

/** Lines to and from a program, each heard. */
export function tappedStdio({ command, args, env, cwd }: Program, tap: WireTap): Transport {
  let child: ChildProcess | undefined
  async function deliver(output: Readable): Promise<void> {
    for await (const line of createInterface({ input: output })) {
      tap.hear(line)
      transport.onmessage?.(JSON.parse(line))
      // The client forgets whom to tell of progress with the answer, also of what came just before it.
      await breathe()
    }
  }
  const transport: Transport = {
    async start() {
      child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
      await once(child, 'spawn')
      if (!child.stdout) throw new Error('The program has no output.')
      void deliver(child.stdout)
    },
    async send(message) {
      tap.note(message)
      child?.stdin?.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      child?.kill('SIGKILL')
      transport.onclose?.()
    },
  }
  return transport
}
