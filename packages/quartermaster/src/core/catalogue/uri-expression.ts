/** One expression of a template: what stands between braces (RFC 6570 §2.2). */
export interface Expression {
  /** What its expansion begins with; nothing for plain ones. */
  readonly sign: string
  readonly names: readonly string[]
  /** Whether nothing at all is one of its expansions. */
  readonly mayBeEmpty: boolean
  /** What its names stand for in this text; nothing when the text is no expansion of it. */
  read(text: string): Record<string, string> | undefined
}

/** Reads what stands between the braces. Lengths (`:3`) are not looked at: whoever has the resource judges the address. */
export function parseExpression(text: string): Expression {
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
