import { AppError, type CommandDecision, type ToolSummary } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { UsageError } from './errors.ts'

type OwnCommand = Extract<CommandDecision, { name: string }>

/** A tool that has a word. */
export type WordTool = ToolSummary & { readonly command: OwnCommand }

/** How a tool stands on the command line. */
export function decisionOf({ command }: ToolSummary): CommandDecision {
  return command ?? { none: 'The server that answers here is too old to say its command.' }
}

/** All tools that have this word: one, and one for every flag. */
export function toolsOf(tools: readonly ToolSummary[], word: string): WordTool[] {
  return tools.filter((tool): tool is WordTool => {
    const command = decisionOf(tool)
    return 'name' in command && command.name === word
  })
}

/** `delegate --async`. */
export function wordsOf({ name, flag }: Pick<OwnCommand, 'name' | 'flag'>): string {
  return flag === undefined ? name : `${name} --${flag}`
}

/** The one that is meant: the one whose flag is written, and otherwise the one without. */
export function chooseTool(tools: readonly ToolSummary[], word: string, line: readonly string[]): WordTool {
  const all = toolsOf(tools, word)
  if (all.length === 0) throw unknownWord(tools, word, line)
  const end = line.indexOf('--')
  const before = end < 0 ? line : line.slice(0, end)
  const flagged = all.filter(({ command: { flag } }) => flag !== undefined && before.includes(`--${flag}`))
  if (flagged.length > 1)
    throw new UsageError(
      `${flagged.map(one => `"${wordsOf(one.command)}"`).join(' and ')} are two commands. Write one of them.`,
    )
  const chosen = flagged[0] ?? all.find(({ command }) => command.flag === undefined)
  if (chosen) return chosen
  throw new UsageError(
    `There is no "${word}" alone. Write ${all.map(one => `"${wordsOf(one.command)}"`).join(' or ')}.`,
  )
}

/** Whether the word is a tool's own name, with dashes or without. */
export function isToolOf({ name }: ToolSummary, word: string): boolean {
  return name === word || name.replaceAll('_', '-') === word
}

/** Somebody may have written the tool's own name, which `call` takes. */
function unknownWord(tools: readonly ToolSummary[], word: string, line: readonly string[]): Error {
  const tool = tools.find(one => isToolOf(one, word))
  if (!tool) {
    const words = new Set(tools.map(decisionOf).flatMap(one => ('name' in one ? one.name : [])))
    const joined = inOneWord(word, line).find(one => words.has(one))
    const hint = joined === undefined ? didYouMean(word, words) : ` Did you mean "${joined}"?`
    return new AppError('NAME_UNKNOWN', `No tool has the command "${word}".${hint}`)
  }
  const command = decisionOf(tool)
  if ('name' in command) return new UsageError(`The command of "${tool.name}" is: quartermaster do ${wordsOf(command)}`)
  return new UsageError(
    `"${tool.name}" has no command. ${command.none}\nIt is called by its name: quartermaster call ${tool.name}`,
  )
}

/** The word together with those that follow it: a command of two words has a dash between them. */
function inOneWord(word: string, line: readonly string[]): string[] {
  const [, ...rest] = line.slice(line.indexOf(word, line.indexOf('do') + 1))
  const end = rest.findIndex(one => one.startsWith('-'))
  const following = end < 0 ? rest : rest.slice(0, end)
  return following.map((_, last) => [word, ...following.slice(0, last + 1)].join('-'))
}
