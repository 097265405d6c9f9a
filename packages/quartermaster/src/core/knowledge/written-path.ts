/** A path as somebody may write it who has seen the file: with its ending, or with slashes around it. */
export function barePath(path: string): string {
  return path
    .trim()
    .replace(/^(?:\.?\/)+|\/+$/g, '')
    .replace(/\.md$/i, '')
}
