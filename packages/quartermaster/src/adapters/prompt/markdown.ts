/** `a`, `b` and `c`. */
export function listed(names: readonly string[]): string {
  const quoted = names.map(name => `\`${name}\``)
  const last = quoted.at(-1) ?? ''
  return quoted.length < 2 ? last : `${quoted.slice(0, -1).join(', ')} and ${last}`
}

/** Blocks with an empty line between them, and one LF at the end. */
export function document(blocks: readonly (string | undefined)[]): string {
  return `${blocks.filter(block => block !== undefined && block !== '').join('\n\n')}\n`
}
