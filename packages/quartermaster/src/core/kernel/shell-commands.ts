/** What a variable holds where it stands; nothing for one that is not known. */
export type Variables = (name: string) => string | undefined

/**
 * The commands of a shell's script one after another, each as its words: quotes are gone, and what is known is filled in
 * when its turn comes, so that a command may change it for the next.
 */
export function* shellCommands(script: string, variables: Variables): Generator<string[]> {
  let words: string[] = []
  let word: string | undefined
  for (const { 0: token, groups = {} } of script.matchAll(TOKEN)) {
    if (groups['end'] === undefined && groups['gap'] === undefined) {
      word = (word ?? '') + meaningOf(token, groups, { variables, isFirst: word === undefined })
      continue
    }
    if (word !== undefined) words.push(word)
    word = undefined
    if (groups['end'] === undefined || words.length === 0) continue
    yield words
    words = []
  }
  if (word !== undefined) words.push(word)
  if (words.length > 0) yield words
}

/** Every character belongs to one of these, and none is looked at twice. */
const TOKEN =
  /(?<literal>'[^']*')|"(?<quoted>(?:[^"\\]|\\[^])*)"|\\(?<escaped>[^])|(?<here>\$\(pwd\)|`pwd`)|\$(?:\{(?<braced>\w+)\}|(?<name>\w+))|(?<end>[;&|()\n`])|(?<gap>[<>]|[^\S\n]+)|(?<plain>[^])/gu

interface Place {
  readonly variables: Variables
  /** Whether a word begins here. */
  readonly isFirst: boolean
}

function meaningOf(token: string, groups: Record<string, string | undefined>, { variables, isFirst }: Place): string {
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
    /\\([$"\\`])|\$\(pwd\)|`pwd`|\$(?:\{(\w+)\}|(\w+))/g,
    (token, escaped?: string, braced?: string, name?: string) => escaped ?? variables(braced ?? name ?? 'PWD') ?? token,
  )
}
