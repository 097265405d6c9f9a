/** A path as somebody may write it who has seen the file: with its ending, with slashes around it, with accents of either form. */
export function barePath(path: string): string {
  const whole = path
    .normalize('NFC')
    .trim()
    .replace(/^(?:\.?\/)+/, '')
  // Not by a pattern: one that looks for the last slashes looks from each slash on.
  let end = whole.length
  while (whole[end - 1] === '/') end -= 1
  return whole.slice(0, end).replace(/\.md$/i, '')
}
