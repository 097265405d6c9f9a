import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startProcess } from '../../packages/quartermaster/test/support/product.ts'

/** What somebody has who never used the product before and just started it. */
export interface FreshProduct {
  /** What it printed, up to the line that connects Claude Code. */
  readonly line: string
  stop(): Promise<void>
}

/** Starts `up` in a folder that holds nothing but a note, and waits for the line to connect Claude Code with. */
export async function startFresh(note: string): Promise<FreshProduct> {
  const folder = await mkdtemp(join(tmpdir(), 'fresh-'))
  await writeFile(join(folder, 'note.txt'), note)
  const up = startProcess(['up', '--port', '0'], { cwd: folder })
  const exited = once(up, 'exit')
  const line = await lineOf(up.stdout as NodeJS.ReadableStream)
  // A process whose output nobody reads stops when the pipe is full.
  for (const stream of [up.stdout, up.stderr]) stream?.resume()
  return {
    line,
    async stop() {
      up.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function lineOf(output: NodeJS.ReadableStream): Promise<string> {
  let all = ''
  for await (const line of createInterface({ input: output })) {
    all += `${line}\n`
    const command = /claude mcp add --transport http .*$/.exec(line)
    if (command) return command[0]
  }
  throw new Error(`up ended without a line for Claude Code:\n${all}`)
}
