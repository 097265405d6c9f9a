/** Everything that is there and cannot be seen, plain spaces and line breaks excepted. */
const HIDDEN = /(?![ \n])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** JSON text in which everything that cannot be seen is an escape. It still parses to the same value. */
export function withoutHidden(json: string): string {
  return json.replace(HIDDEN, toJsonEscape)
}

/** A character as JSON writes one that cannot stand for itself. */
export function toJsonEscape(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')
}
