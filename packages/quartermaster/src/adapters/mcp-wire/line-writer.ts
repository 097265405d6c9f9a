import type { Writable } from 'node:stream'

/** Writes whole lines, one after the other. */
export interface LineWriter {
  /** Resolves when there is room for more, so that whoever waits reads no faster than the other side does. */
  write(text: string): Promise<void>
  /** Aborts when the reader has gone. */
  readonly gone: AbortSignal
}

export function createLineWriter(output: Writable): LineWriter {
  const gone = new AbortController()
  const leave = () => gone.abort()
  output.on('error', leave)
  output.on('close', leave)
  return {
    gone: gone.signal,
    async write(text) {
      if (gone.signal.aborted || output.write(`${text}\n`)) return
      await roomIn(output, gone.signal)
    },
  }
}

function roomIn(output: Writable, gone: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const go = () => {
      output.off('drain', go)
      gone.removeEventListener('abort', go)
      resolve()
    }
    output.once('drain', go)
    gone.addEventListener('abort', go, { once: true })
  })
}
