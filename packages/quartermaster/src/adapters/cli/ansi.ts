/** Puts a style around a text. */
export type Style = (text: string) => string

/** The few styles we use. */
export type Paint = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', Style>>

/** Styles that work, or leave every text as it is. */
export function createPaint(enabled: boolean): Paint {
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
export function wantsColor(options: {
  env: Readonly<Record<string, string | undefined>>
  isTTY: boolean
  color: boolean
}): boolean {
  const { NO_COLOR: none, FORCE_COLOR: force, TERM: term } = options.env
  if (!options.color || none) return false
  if (force !== undefined && force !== '') return force !== '0' && force !== 'false'
  return options.isTTY && term !== 'dumb'
}
