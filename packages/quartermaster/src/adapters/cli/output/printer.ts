import type { CliOutput } from '../host.ts'

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

interface PrinterOptions {
  env: Readonly<Record<string, string | undefined>>
  color: boolean
}

function isClosedPipe(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF'
}

/** Puts a style around a text. */
export type Style = (text: string) => string

/** The few styles we use. */
type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', Style>>

/** Styles, and the columns a text may use: undefined where the output is no terminal, so that nothing is wrapped or cut. */
export interface Frame {
  paint: Paint
  width: number | undefined
}

/** Styles that work, or leave every text as it is. */
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

/** Whether a stream gets colour. The wish for none (`--no-color`, `NO_COLOR`) beats the wish for some (`FORCE_COLOR`). */
function wantsColor(options: {
  env: Readonly<Record<string, string | undefined>>
  isTTY: boolean
  color: boolean
}): boolean {
  const { NO_COLOR: none, FORCE_COLOR: force, TERM: term } = options.env
  if (!options.color || none) return false
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  return options.isTTY && term !== 'dumb'
}
