/** A text as a sentence, after which another one can follow. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
