import { type Expression, parseExpression } from './uri-expression.ts'

/** An address with gaps: RFC 6570. */
export interface UriTemplate {
  /** The names in the gaps, in order. */
  readonly params: readonly string[]
  /** What fills the gaps in this address; nothing when it is none of the template's. */
  match(uri: string): Record<string, string> | undefined
}

/** Expressions that stand side by side, and the text behind them. */
interface Gap {
  readonly expressions: readonly Expression[]
  readonly textAfter: string
}

/** Reads a template that was checked to be one. */
export function parseUriTemplate(template: string): UriTemplate {
  const { first, gaps } = piecesOf(template)
  const params = [...new Set(gaps.flatMap(({ expressions }) => expressions.flatMap(({ names }) => names)))]
  return {
    params,
    match(uri) {
      const texts = gapsIn(uri, first, gaps)
      const values = texts && gaps.map(({ expressions }, index) => valuesOf(expressions, texts[index] ?? ''))
      return values?.every(one => one !== undefined) ? Object.assign({}, ...values) : undefined
    },
  }
}

function piecesOf(template: string): { first: string; gaps: Gap[] } {
  const pieces = template.split(/\{([^{}]*)\}/)
  const gaps: { expressions: Expression[]; textAfter: string }[] = []
  for (let index = 1; index < pieces.length; index += 2) {
    const expression = parseExpression(pieces[index] ?? '')
    const textAfter = pieces[index + 1] ?? ''
    const last = gaps.at(-1)
    if (last?.textAfter === '') {
      last.expressions.push(expression)
      last.textAfter = textAfter
    } else gaps.push({ expressions: [expression], textAfter })
  }
  return { first: pieces[0] ?? '', gaps }
}

/**
 * What stands between the texts. It goes through the address once and takes each text where it first comes, so that no
 * address takes long, whoever made it up: a regular expression would try every place.
 */
function gapsIn(uri: string, first: string, gaps: readonly Gap[]): string[] | undefined {
  if (!uri.startsWith(first)) return undefined
  const found: string[] = []
  let from = first.length
  for (const [index, { expressions, textAfter }] of gaps.entries()) {
    const least = from + (expressions.every(({ mayBeEmpty }) => mayBeEmpty) ? 0 : 1)
    const isLast = index === gaps.length - 1
    const to = isLast ? endBefore(uri, textAfter) : uri.indexOf(textAfter, least)
    if (to < least) return undefined
    found.push(uri.slice(from, to))
    from = to + textAfter.length
  }
  return found
}

function endBefore(uri: string, text: string): number {
  return uri.endsWith(text) ? uri.length - text.length : -1
}

/** What one gap says. Of expressions side by side each ends where another begins, which most show by their first sign. */
function valuesOf(expressions: readonly Expression[], gap: string): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  let rest = gap
  for (const [index, expression] of expressions.entries()) {
    const end = endOf(rest, expression, expressions.slice(index + 1))
    const own = expression.read(rest.slice(0, end))
    if (!own) return undefined
    Object.assign(values, own)
    rest = rest.slice(end)
  }
  return rest === '' ? values : undefined
}

function endOf(text: string, { sign }: Expression, following: readonly Expression[]): number {
  if (!text.startsWith(sign)) return 0
  const places = following.map(other => (other.sign === '' ? -1 : text.indexOf(other.sign, sign.length)))
  return Math.min(text.length, ...places.filter(place => place >= 0))
}
