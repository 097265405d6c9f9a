import { markdownLines } from './markdown.ts'

/** A link in a text to a place in the same folder of files, or in the same text. */
export interface LocalLink {
  readonly target: string
  /** Without the `#`. */
  readonly anchor: string | undefined
  readonly line: number
}

// In angle brackets it may have spaces, and outside of them brackets that are closed again.
const TARGET = String.raw`(?:<([^<>]*)>|((?:\\[!-/:-@[-\x60{-~]|[^\s()<>\\]|\([^\s()]*\))+))`
const TITLE = String.raw`(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*`
// What is linked may be words, or a picture that was looked at before.
const WORDS = String.raw`(?<!\\)\[(?:\\.|[^[\]\\])*\]|(?<=\))\]`
// A note at the foot is no address.
const NAMED = String.raw`^ {0,3}\[(?!\^)[^[\]]+\]:\s*`
const LINK = new RegExp(String.raw`(?:${WORDS})\(\s*${TARGET}${TITLE}\)|${NAMED}${TARGET}${TITLE}$`, 'g')

/** The links of a text that lead neither to another server nor to an address of any other kind. */
export function localLinks(text: string): LocalLink[] {
  return markdownLines(text).flatMap(({ prose, number }) =>
    [...prose.matchAll(LINK)].flatMap(([, ...targets]) => {
      const address = (targets.find(target => target !== undefined) ?? '').replace(/\\([!-/:-@[-`{-~])/g, '$1')
      if (address === '' || /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) return []
      // Somebody else puts in what is meant.
      if (address.includes('{')) return []
      const [place = '', anchor] = address.split('#')
      // What is asked behind a question mark changes nothing about where the file is.
      const [target = ''] = place.split('?')
      return [{ target: decoded(target), anchor: anchor && decoded(anchor), line: number }]
    }),
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not written in percent signs, so it is meant as it stands.
    return text
  }
}
