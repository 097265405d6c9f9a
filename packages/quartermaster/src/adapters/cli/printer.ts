import { createPaint, wantsColor } from './ansi.ts'
import type { CliOutput } from './host.ts'
import type { Frame } from './table.ts'

/** One of the two outputs, with the styles and the width that suit it. */
export interface Printer extends Frame {
  readonly isTerminal: boolean
  readonly color: boolean
  write(text: string): Promise<void>
}

/** Whoever read our output has gone. There is nobody left to tell. */
export class ClosedPipe extends Error {}

/** Terminals that do not say how wide they are get this. */
const USUAL_WIDTH = 80

/** A printer for results; a reader that went away ends the command with `ClosedPipe`. */
export function createPrinter(output: CliOutput, options: PrinterOptions): Printer {
  const color = wantsColor({ ...options, isTTY: output.isTTY })
  return {
    color,
    paint: createPaint(color),
    width: output.isTTY ? output.columns || USUAL_WIDTH : undefined,
    isTerminal: output.isTTY,
    async write(text) {
      try {
        await output.write(text)
      } catch (error) {
        throw isClosedPipe(error) ? new ClosedPipe('The reader has gone.', { cause: error }) : error
      }
    },
  }
}

/** A printer for notices. What cannot be told there is no reason to fail. */
export function createNoticePrinter(output: CliOutput, options: PrinterOptions): Printer {
  const printer = createPrinter(output, options)
  return {
    ...printer,
    // A closed or full standard error takes nothing from the result, so failing to write there is let go.
    write: text => printer.write(text).catch(() => undefined),
  }
}

export interface PrinterOptions {
  env: Readonly<Record<string, string | undefined>>
  color: boolean
}

function isClosedPipe(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF'
}
