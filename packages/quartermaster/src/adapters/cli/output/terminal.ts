import {
  escapeCharacter,
  escapeLine,
  toSafeJson,
  toVisibleJson,
  UNSAFE,
  UNSEEN,
  withoutHidden,
} from '../../../core/kernel/index.ts'
import type { CliIo, CliOutput } from '../host.ts'

export { escapeLine, toVisibleJson }

/** A text in which control and invisible characters are escapes; line breaks and tabs stay. */
export function escapeBlock(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(UNSAFE, character => (character === '\n' || character === '\t' ? character : escapeCharacter(character)))
    .replace(UNSEEN, escapeCharacter)
}

/** Text that others wrote: escaped, and without gaps that push the rest off the screen. */
export function escapeProse(text: string): string {
  return withoutGaps(escapeBlock(text))
}

/** Replaces runs of spaces that push the rest of a line off the screen by a note. Shorter ones may be indentation. */
export function withoutGaps(text: string): string {
  return text.replace(/\p{Zs}{40,}/gu, inWords)
}

/** The same for JSON, whose indentation stays. */
export function withoutGapsInJson(json: string): string {
  return json.replace(/(?<=\S)\p{Zs}{40,}/gu, inWords)
}

function inWords(spaces: string): string {
  return `[${spaces.length} spaces]`
}

/** Invisible characters, except plain spaces and line breaks. */
const HIDDEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Text whose author may want to hide something: invisible characters are escapes, and long gaps are notes. */
export function escapeHidden(text: string): string {
  return text
    .replace(/\r\n/g, '\n')
    .replace(HIDDEN, escapeCharacter)
    .replace(/ {9,}/g, inWords)
    .replace(/\n{4,}/g, breaks => `\n[${breaks.length} line breaks]\n`)
}

/** JSON in which every invisible character is an escape. It still parses to the same value. */
export function toVisibleJsonText(value: unknown, options: { pretty: boolean }): string {
  return withoutHidden(toJsonText(value, options))
}

/** JSON in which every control character is an escape. It still parses to the same value. */
export function toJsonText(value: unknown, options: { pretty: boolean }): string {
  return toSafeJson(JSON.stringify(value, null, options.pretty ? 2 : 0) ?? 'null')
}

/** A word that a POSIX shell reads back as exactly this text. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The same with invisible characters as escapes that bash and zsh read. */
export function visibleWord(text: string): string {
  if (!text.match(HIDDEN_IN_WORD)) return shellWord(text)
  return `$'${text.replace(/[\\']/g, '\\$&').replace(HIDDEN_IN_WORD, shellEscape)}'`
}

/** Includes line breaks: a word stays on its line. */
const HIDDEN_IN_WORD = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

function shellEscape(character: string): string {
  if (character === '\n') return '\\n'
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** The lines of quoted text, each after a bar. */
export function barred(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map(line => `| ${line}`)
}

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
