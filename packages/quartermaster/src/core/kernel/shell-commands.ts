/** What a variable holds where it stands; nothing for one that is not known. */
export type Variables = (name: string) => string | undefined

/**
 * The commands of a shell's script one after another, each as its words: quotes are gone, and what is known is filled in
 * when its turn comes, so that a command may change it for the next.
 */
export function* shellCommands(script: string, variables: Variables): Generator<string[]> {
  for (const line of shellTokens(script)) {
    yield line.map(word => word.map((token, i) => meaningOf(token, { variables, isFirst: i === 0 })).join(''))
  }
}

/** The commands of a script one after another, each as its words, and these as what they are put together of. */
export function* shellTokens(script: string): Generator<RegExpExecArray[][]> {
  let words: RegExpExecArray[][] = []
  let word: RegExpExecArray[] = []
  for (const token of script.matchAll(TOKEN)) {
    if (token.groups?.['goesOn'] !== undefined) continue
    const isEnd = token.groups?.['end'] !== undefined
    if (!isEnd && token.groups?.['gap'] === undefined) {
      word.push(token)
      continue
    }
    if (word.length > 0) words.push(word)
    word = []
    if (!isEnd || words.length === 0) continue
    yield words
    words = []
  }
  if (word.length > 0) words.push(word)
  if (words.length > 0) yield words
}

/** Every character belongs to one of these, and none is looked at twice. */
const TOKEN =
  /(?<literal>'[^']*')|"(?<quoted>(?:[^"\\]|\\[^])*)"|(?<goesOn>\\\n)|\\(?<escaped>[^])|(?<here>\$\(pwd\)|`pwd`)|\$(?:\{(?<braced>\w+)\}|(?<name>\w+))|(?<end>[;&|()\n`])|(?<gap>[<>]|[^\S\n]+)|(?<plain>[^])/gu

interface Place {
  readonly variables: Variables
  /** Whether a word begins here. */
  readonly isFirst: boolean
}

function meaningOf({ 0: token, groups = {} }: RegExpExecArray, { variables, isFirst }: Place): string {
  const { literal, quoted, escaped, here, braced, name, plain } = groups
  if (literal !== undefined) return literal.slice(1, -1)
  if (quoted !== undefined) return filledIn(quoted, variables)
  if (escaped !== undefined) return escaped
  if (here !== undefined) return variables('PWD') ?? token
  if (plain === '~' && isFirst) return variables('HOME') ?? token
  if (plain !== undefined) return plain
  return variables(braced ?? name ?? '') ?? token
}

function filledIn(quoted: string, variables: Variables): string {
  return quoted.replace(
    /\\([$"\\`\n])|\$\(pwd\)|`pwd`|\$(?:\{(\w+)\}|(\w+))/g,
    (token, escaped?: string, braced?: string, name?: string) =>
      escaped?.replace('\n', '') ?? variables(braced ?? name ?? 'PWD') ?? token,
  )
}
