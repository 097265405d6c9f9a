/** An address with gaps: RFC 6570, level 1. */
export interface UriTemplate {
  /** The names of the gaps, in order. */
  readonly params: readonly string[]
  /** What fills the gaps in this address; nothing when it is none of the template's. */
  match(uri: string): Record<string, string> | undefined
}

/** Reads a template that was checked to be one. */
export function parseUriTemplate(template: string): UriTemplate {
  const pieces = template.split(/\{(\w+)\}/)
  const params = pieces.filter((_, index) => index % 2 === 1)
  const texts = pieces.filter((_, index) => index % 2 === 0)
  return {
    params,
    match(uri) {
      const values = gapsOf(uri, texts)?.map(valueOf)
      if (!values || values.includes(undefined)) return undefined
      return Object.fromEntries(params.map((name, index) => [name, values[index] ?? '']))
    },
  }
}

/**
 * What stands between the texts. It goes through the address once and takes each text where it first comes, so that no
 * address takes long, whoever made it up: a regular expression would try every place.
 */
function gapsOf(uri: string, [first = '', ...others]: readonly string[]): string[] | undefined {
  if (!uri.startsWith(first)) return undefined
  const gaps: string[] = []
  let from = first.length
  for (const [index, text] of others.entries()) {
    const isLast = index === others.length - 1
    const to = isLast ? endBefore(uri, text) : uri.indexOf(text, from + 1)
    if (to <= from) return undefined
    gaps.push(uri.slice(from, to))
    from = to + text.length
  }
  return gaps
}

function endBefore(uri: string, text: string): number {
  return uri.endsWith(text) ? uri.length - text.length : -1
}

/** An expansion of level 1 escapes these, so a gap with one of them is part of another address. */
const RESERVED = /[/?#]/

function valueOf(gap: string): string | undefined {
  if (RESERVED.test(gap)) return undefined
  try {
    return decodeURIComponent(gap)
  } catch {
    // Not what any expansion gives.
    return undefined
  }
}
