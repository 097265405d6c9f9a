import type { Problem } from '../../contracts/index.ts'
import { commandUsage } from '../kernel/index.ts'
import { withCommand } from './checked-tool.ts'
import type { Tool } from './generation.ts'
import type { SourceKind } from './source.ts'

/** The words of the commands that there are so far, with the tools that have them: one, and one for every flag. */
export type CommandWords = Map<string, Tool[]>

/** The tool with its command; without one, and with the reason, where an earlier tool has the word. It is called by its name. */
export function withOwnWord(
  tool: Tool,
  { words, problems }: { words: CommandWords; problems: Problem[] },
  kind: SourceKind,
): Tool {
  const { command } = tool
  if ('none' in command) return tool
  const others = words.get(command.name) ?? []
  const clash = others.map(other => clashOf(tool, other)).find(one => one !== undefined)
  if (!clash) {
    words.set(command.name, [...others, tool])
    return tool
  }
  // What others call their tools is nothing that anybody here could mend.
  if (kind !== 'upstream') problems.push(withoutWord(tool, clash))
  // Not by which one: whoever reads it may not have that one. The problem says it to who mends it.
  return withCommand(tool, { none: `${clash.why('another tool')}.` })
}

/** Why what is written for one tool cannot be told from what is written for another. */
interface Clash {
  readonly first: Tool
  why(other: string): string
}

function clashOf(tool: Tool, first: Tool): Clash | undefined {
  const [own, theirs] = [flagOf(tool), flagOf(first)]
  if (own === theirs) return { first, why: other => `The word "${wordsOf(tool)}" is taken by ${other}` }
  if (hasOption(tool, theirs))
    return { first, why: other => `Its option "--${theirs}" is the flag of ${other}, "${wordsOf(first)}"` }
  if (hasOption(first, own))
    return { first, why: other => `Its flag "--${own}" is an option of ${other}, "${wordsOf(first)}"` }
  return undefined
}

function hasOption(tool: Tool, flag: string | undefined): boolean {
  return flag !== undefined && commandUsage(tool)?.options.some(option => option.name === flag) === true
}

function flagOf({ command }: Tool): string | undefined {
  return 'none' in command ? undefined : command.flag
}

function wordsOf({ command }: Tool): string {
  if ('none' in command) return ''
  return command.flag === undefined ? command.name : `${command.name} --${command.flag}`
}

function withoutWord(tool: Tool, { first, why }: Clash): Problem {
  return {
    severity: 'warning',
    code: 'DEFINITION_INVALID',
    where: tool.unit,
    subject: `tool:${tool.name}`,
    field: 'command',
    message: `Tool "${tool.name}" has no command. ${why(`tool "${first.name}" of ${first.unit} (${first.source})`)}, and the earlier one stays.`,
    mend: `Give it another word in "command", or go on calling it with: quartermaster call ${tool.name}`,
  }
}
