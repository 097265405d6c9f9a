import type { CliIo, CliOutput } from '../host.ts'

/** One of the two outputs, with the styles and the width that suit it. */
export interface Printer extends Frame {
  readonly isTerminal: boolean
  readonly color: boolean
  write(text: string): Promise<void>
}

/** The reader of our output has closed it, so there is nothing left to write. */
export class ClosedPipe extends Error {}

/** Terminals that do not say how wide they are get this. */
const USUAL_WIDTH = 80

/** A printer for results; a reader that went away ends the command with `ClosedPipe`. */
export function createPrinter(output: CliOutput, options: PrinterOptions): Printer {
  const color = wantsColor(options, output.isTTY)
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

/** A printer for notices. */
export function createNoticePrinter(output: CliOutput, options: PrinterOptions): Printer {
  const printer = createPrinter(output, options)
  return {
    ...printer,
    // The result is complete even when standard error is closed or full, so a failed write there is ignored.
    write: text => printer.write(text).catch(() => undefined),
  }
}

interface PrinterOptions {
  env: CliIo['env']
  color: boolean
}

function isClosedPipe(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF'
}

export type Style = (text: string) => string

type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', Style>>

/** How a text is laid out. */
export interface Frame {
  paint: Paint
  /** The columns a text can use; undefined where the output is no terminal, so that nothing is wrapped or cut. */
  width: number | undefined
}

function createPaint(enabled: boolean): Paint {
  const style = (on: number, off: number): Style =>
    enabled ? text => `\u001b[${on}m${text}\u001b[${off}m` : text => text
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39),
  }
}

/** Whether a stream gets colour. `--no-color` and `NO_COLOR` win over `FORCE_COLOR`. */
function wantsColor({ env, color }: PrinterOptions, isTTY: boolean): boolean {
  const { NO_COLOR: none, FORCE_COLOR: force, TERM: term } = env
  if (!color || none) return false
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  return isTTY && term !== 'dumb'
}
