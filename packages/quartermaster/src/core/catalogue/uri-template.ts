/** An address with gaps: RFC 6570. */
interface UriTemplate {
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

/** One expression of a template: what stands between braces (RFC 6570 §2.2). */
interface Expression {
  /** What its expansion begins with; nothing for plain ones. */
  readonly sign: string
  readonly names: readonly string[]
  /** Whether nothing at all is one of its expansions. */
  readonly mayBeEmpty: boolean
  /** What its names stand for in this text; nothing when the text is no expansion of it. */
  read(text: string): Record<string, string> | undefined
}

/** Reads what stands between the braces. Lengths (`:3`) are not looked at: whoever has the resource judges the address. */
function parseExpression(text: string): Expression {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? ''
  const specs = text.slice(operator.length).split(',')
  const names = specs.map(spec => spec.replace(/\*$|:\d+$/, ''))
  const { sign, separator, forbidden, isNamed = false } = OPERATORS[operator as Operator]
  const isOpen = specs.some(spec => spec.endsWith('*'))
  return {
    sign,
    names,
    mayBeEmpty: sign !== '',
    read(expansion) {
      if (expansion === '' && sign !== '') return {}
      if (!expansion.startsWith(sign) || forbidden.test(expansion.slice(sign.length))) return undefined
      const inside = expansion.slice(sign.length)
      if (isNamed) return namedValues(inside.split(separator), names, isOpen)
      return listedValues(names.length === 1 ? [inside] : inside.split(separator), names, separator)
    },
  }
}

type Operator = '' | '+' | '#' | '.' | '/' | ';' | '?' | '&'

interface OperatorFacts {
  readonly sign: string
  readonly separator: string
  /** What cannot stand in its expansion: there it is part of another address. */
  readonly forbidden: RegExp
  /** Whether values come as `name=value`. */
  readonly isNamed?: boolean
}

const OPERATORS: Readonly<Record<Operator, OperatorFacts>> = {
  '': { sign: '', separator: ',', forbidden: /[/?#]/ },
  '+': { sign: '', separator: ',', forbidden: /(?!)/ },
  '#': { sign: '#', separator: ',', forbidden: /(?!)/ },
  '.': { sign: '.', separator: '.', forbidden: /[/?#]/ },
  '/': { sign: '/', separator: '/', forbidden: /[?#]/ },
  ';': { sign: ';', separator: ';', forbidden: /[/?#]/, isNamed: true },
  '?': { sign: '?', separator: '&', forbidden: /#/, isNamed: true },
  '&': { sign: '&', separator: '&', forbidden: /#/, isNamed: true },
}

/** The last name gets what is left over: only a list can be longer. */
function listedValues(
  parts: readonly string[],
  names: readonly string[],
  separator: string,
): Record<string, string> | undefined {
  const last = names.length - 1
  const texts = parts.length > names.length ? [...parts.slice(0, last), parts.slice(last).join(separator)] : parts
  const values = texts.map(decoded)
  if (values.includes(undefined)) return undefined
  return Object.fromEntries(values.map((value, index) => [names[index] ?? '', value ?? '']))
}

function namedValues(
  parts: readonly string[],
  names: readonly string[],
  isOpen: boolean,
): Record<string, string> | undefined {
  const values: Record<string, string> = {}
  for (const part of parts) {
    const [name = '', ...value] = part.split('=')
    const text = decoded(value.join('='))
    if (text === undefined || (!isOpen && !names.includes(name))) return undefined
    // A star makes names of whatever its value is made of.
    if (names.includes(name)) values[name] = text
  }
  return values
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not what any expansion gives.
    return undefined
  }
}
