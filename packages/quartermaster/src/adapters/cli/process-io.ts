import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { CliInput, CliIo, CliOutput } from './host.ts'

type Output = NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
type Readable = NodeJS.ReadableStream & { isTTY?: boolean }

/** The parts of a process that the command line uses. */
export interface ProcessLike {
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: Readable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Called when Ctrl-C is pressed at a question: there the terminal makes no signal of it. */
  interrupt(): void
}

export function createProcessIo({ stdout, stderr, stdin, env, interrupt }: ProcessLike): CliIo {
  return { stdout: toOutput(stdout), stderr: toOutput(stderr), stdin: toInput(stdin, stderr, interrupt), env }
}

function toOutput(stream: Output): CliOutput {
  // The write that failed rejects; without a listener the stream's own event would end the process.
  stream.on('error', () => {})
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns
    },
    write: text =>
      new Promise((resolve, reject) => {
        stream.write(text, error => (error ? reject(error) : resolve()))
      }),
  }
}

function toInput(stream: Readable, prompts: Output, interrupt: () => void): CliInput {
  return {
    isTTY: stream.isTTY === true,
    async read() {
      let text = ''
      stream.setEncoding('utf8')
      for await (const chunk of stream) text += String(chunk)
      return text
    },
    async line() {
      for await (const line of createInterface({ input: stream })) return line
      return ''
    },
    async question(prompt, { signal, isHidden = false }) {
      // The line reader echoes what is typed to its output, so for a hidden answer the output drops everything.
      const output = isHidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : prompts
      if (isHidden) prompts.write(prompt)
      const terminal = createInterface({ input: stream, output, terminal: isHidden || prompts.isTTY === true })
      terminal.on('SIGINT', interrupt)
      const ended = new Promise<string>(resolve => terminal.once('close', () => resolve('')))
      try {
        return await Promise.race([terminal.question(prompt, { signal }), ended])
      } catch (error) {
        if (signal.aborted) throw error
        // Ctrl-D: there is no answer, and the cursor still stands behind the question.
        prompts.write('\n')
        return ''
      } finally {
        terminal.close()
        if (isHidden) prompts.write('\n')
      }
    },
  }
}

/** Shows a web address in the person's browser. Answers whether a program took it, not whether it was seen. */
export function openBrowser(url: string, surroundings: BrowserSurroundings): Promise<boolean> {
  const command = browserCommand(url, surroundings)
  if (!command) return Promise.resolve(false)
  const [program, ...args] = command
  return new Promise(resolve => {
    // The address is an argument and never seen by a shell.
    const child = spawn(program, args, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

interface BrowserSurroundings extends Pick<ProcessLike, 'env'> {
  readonly platform: NodeJS.Platform
}

/** The program that opens web addresses, where there is a screen to open them on. Nothing else is opened. */
export function browserCommand(url: string, { platform, env }: BrowserSurroundings): [string, ...string[]] | undefined {
  if (!/^https?:\/\//.test(url)) return undefined
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined
}
