import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setImmediate as breathe } from 'node:timers/promises'
import type { FetchLike, Transport } from '@modelcontextprotocol/client'

/** Keeps what comes over a wire as it comes: the client's own reading puts fields in another order. */
export interface WireTap {
  /** Takes one message. */
  hear(text: string): void
  /** The newest answer: its `result` or its `error`. */
  last(): Answer
}

export interface Answer {
  readonly result?: Record<string, unknown>
  readonly error?: Record<string, unknown>
}

export function createWireTap(): WireTap {
  let newest: Answer = {}
  return {
    hear(text) {
      const { result, error } = JSON.parse(text)
      if (result !== undefined) newest = { result }
      if (error !== undefined) newest = { error }
    },
    last: () => newest,
  }
}

/** A `fetch` whose answers are heard before whoever fetches reads them. */
export function tappedFetch(tap: WireTap): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    const { body, headers } = response
    if (!body) return response
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    return new Response(body.pipeThrough(listening(tap, isStream)), response)
  }
}

function listening(tap: WireTap, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  const hearEvents = () => {
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const data = /^data: ?(.+)$/m.exec(event)?.[1]
      if (data !== undefined) tap.hear(data)
    }
  }
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true })
      if (isStream) hearEvents()
      controller.enqueue(chunk)
    },
    flush() {
      if (!isStream && text !== '') tap.hear(text)
    },
  })
}

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
      child?.stdin?.write(`${JSON.stringify(message)}\n`)
    },
    async close() {
      child?.kill('SIGKILL')
      transport.onclose?.()
    },
  }
  return transport
}
