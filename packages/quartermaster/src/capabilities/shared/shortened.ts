/** The beginning of a text that is too long. No character is cut in halves. */
export function beginningOf(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}

/** The end of one. */
export function endOf(text: string, most: number): string {
  return text.length > most ? `…${text.slice(-most).replace(/^[\uDC00-\uDFFF]/, '')}` : text
}
