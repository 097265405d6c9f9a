/** Headers as they are looked at here: those of a `Request`, or of one that was never made. */
export interface HeaderReader {
  get(name: string): string | null
}

/** As Node has them: small names, and one text for each that may occur once. */
export type PlainHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export function readerOf(headers: PlainHeaders): HeaderReader {
  return {
    get(name) {
      const value = headers[name.toLowerCase()]
      return typeof value === 'string' ? value : null
    },
  }
}
