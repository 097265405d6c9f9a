/** A path as somebody may write it who has seen the file: with its ending, with slashes around it, with accents of either form. */
export function barePath(path: string): string {
  return path
    .normalize('NFC')
    .trim()
    .replace(/^(?:\.?\/)+|\/+$/g, '')
    .replace(/\.md$/i, '')
}
