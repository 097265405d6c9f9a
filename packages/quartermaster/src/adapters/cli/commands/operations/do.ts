import { type Command, CommanderError } from 'commander'
import {
  type AgentControl,
  AppError,
  type CommandDecision,
  type Control,
  isAppError,
  type ToolDetail,
  type ToolSummary,
} from '../../../../contracts/index.ts'
import { type CommandUsage, commandUsage, didYouMean, sentence } from '../../../../core/kernel/index.ts'
import { canAsk } from '../../ask.ts'
import { addExamples, type Register } from '../../command.ts'
import { GrowingCommand, type GrowingLine, TextCommand } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields } from '../../output/layout.ts'
import type { Frame } from '../../output/printer.ts'
import { missingInWords } from '../../output/problem-text.ts'
import type { Session } from '../../session.ts'
import { unseenAmong } from '../servers/upstream-status.ts'
import { addCallOptions, type CallOptions, runCall } from './call.ts'
import { type SameWord, toolCommand, toolInput } from './tool-command.ts'

export const registerDo: Register = (program, act) => {
  const command = new GrowingCommand('do', grow)
  command
    .copyInheritedSettings(program)
    .description(
      'Use a tool by its own command, as an agent would: its arguments, options and help are those of the tool. Without a command, list them all.',
    )
    .usage('[COMMAND] [ARGUMENTS...] [options]')
    .argument('[COMMAND]', 'the command of a tool; --help behind it says what it takes')
    .argument('[ARGUMENTS...]', 'what it takes; - as the last text reads it from standard input')
    // The server that answers knows the commands, their options and their help.
    .allowUnknownOption()
    .helpOption(false)
    .helpCommand(false)
    .option('-h, --help', 'print help, that of the command where one is named')
    .action((word: string | undefined, _: string[], options: CallOptions & { help?: boolean }) => {
      if (word === undefined && options.help) command.help()
      return act(session =>
        word === undefined ? listCommands(session, options) : run(session, program, word, options),
      )
    })
  addCallOptions(command)
  addExamples(command, [
    ['quartermaster do', 'every command that the agent has'],
    ['quartermaster do delegate --help', 'what one of them takes'],
    ['quartermaster do read-file notes.txt --limit 20', 'use one'],
    ['git diff | quartermaster do delegate reviewer -', 'with the last text from standard input'],
  ])
  program.addCommand(command)
}

async function run(session: Session, program: Command, word: string, options: CallOptions): Promise<number> {
  if (word.startsWith('-')) throw new UsageError(`The command stands before its options, and "${word}" is none.`)
  session.hints = { agent: options.agent, listing: ['do'] }
  return await session.connectAsAgent(async (control, owner) => {
    const found = await findCommand(session, { control, owner }, word)
    const { tool, usage, command } = found
    session.hints = { agent: options.agent, tool: tool.name }
    await parse(session.line, program, found)
    let fromStdin = false
    const input = await toolInput(command, usage, async words => {
      fromStdin = words.length === 1 && words[0] === '-'
      return fromStdin ? await session.untilAborted(session.host.io.stdin.read()) : words.join(' ')
    })
    const mayAsk = !fromStdin && canAsk(session)
    return await runCall(session, { control, owner }, { tool: tool.name, input, options, mayAsk })
  })
}

interface FoundCommand {
  readonly tool: ToolDetail
  readonly usage: CommandUsage
  readonly command: Command
}

interface Controls {
  readonly control: AgentControl
  readonly owner: Control | undefined
}

/** Looks among all tools, also those of other agents: for a tool that the agent does not have, the call says how it gets it. */
async function findCommand(session: Session, controls: Controls, word: string): Promise<FoundCommand> {
  const { control } = controls
  const known = await lookedUp(session, control, word)
  const isBack = await refuseHeld(session, control, { tools: known, word })
  const tools = isBack ? await lookedUp(session, control, word) : known
  const { name } = await chosen(session, controls, { tools, word })
  const tool = await session.attend('Looking', on => control.tool({ name }, on))
  return toFound(tool, othersOf(tools, word, name))
}

async function chosen(
  session: Session,
  controls: Controls,
  { tools, word }: { readonly tools: readonly ToolSummary[]; readonly word: string },
): Promise<WordTool> {
  try {
    return chooseTool(tools, word, session.line)
  } catch (error) {
    throw await withUnseen(session, error, { ...controls, word })
  }
}

/** Servers that were never connected are waited for only when no known tool has the word. */
async function lookedUp(session: Session, control: AgentControl, word: string): Promise<readonly ToolSummary[]> {
  const { signal } = session.host
  const known = await session.attend('Looking', () => control.tools({ along: true }, { signal }))
  if (toolsOf(known, word).length > 0) return known
  return await session.attend('Looking', on => control.tools({ along: true }, on))
}

function othersOf(tools: Parameters<typeof toolsOf>[0], word: string, name: string): SameWord[] {
  return toolsOf(tools, word).flatMap(({ name: other, short, command: { flag } }) =>
    other === name || flag === undefined ? [] : [{ flag, short }],
  )
}

function toFound(tool: ToolDetail, others: readonly SameWord[]): FoundCommand {
  const usage = commandUsage({ ...tool, command: decisionOf(tool), inputSchema: tool.input })
  if (!usage) throw new UsageError(`"${tool.name}" has lost its command just now. Run it again.`)
  return { tool, usage, command: toolCommand(tool, usage, others) }
}

/** Reads the line once more, now that the command is known, with the same options before and behind it. */
async function parse(line: readonly string[], program: Command, { command, usage }: FoundCommand): Promise<void> {
  const whole = new TextCommand(program.name()).copyInheritedSettings(program)
  // Behind a tool's command `--version` is not ours: the tool may have a parameter of that name.
  for (const option of program.options) if (option.long !== '--version') whole.addOption(option)
  const outer = addCallOptions(new TextCommand('do').copyInheritedSettings(whole))
  whole.addCommand(outer.addCommand(command.copyInheritedSettings(whole)))
  // What is done with it is for the caller; without an action a command prints its help.
  command.action(() => {})
  await whole.parseAsync([...line], { from: 'user' }).catch(error => {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error
    const isUnknown = error.code === 'commander.unknownOption' && usage.positional.some(({ takesRest }) => takesRest)
    const hint =
      isUnknown && !error.message.includes('(Did you mean') ? '\nWrite -- before a text that begins with -.' : ''
    throw new UsageError(`${error.message.replace(/^error: /, '')}${hint}`, `do ${wordsOf(usage)}`)
  })
}

/** For completion: the words of the agent's tools, and all about the one that is written. */
async function grow(
  command: Command,
  control: AgentControl,
  { words, given, agent = 'default' }: GrowingLine,
): Promise<void> {
  const tools = await control.tools(defined({ agent }))
  const names = new Set(tools.flatMap(tool => decisionOf(tool)).flatMap(one => ('name' in one ? one.name : [])))
  const written = given.slice(0, 1).find(word => names.has(word))
  for (const name of names) {
    const [first] = toolsOf(tools, name)
    if (name !== written) command.command(name).description(escapeLine(first?.short ?? ''))
  }
  if (written === undefined) return
  const { name } = chooseTool(tools, written, words.slice(0, -1))
  const found = toFound(await control.tool({ name }), othersOf(tools, written, name))
  command.addCommand(found.command.copyInheritedSettings(command))
}

/** Prints every command of an agent, section by section. */
async function listCommands(session: Session, { agent }: CallOptions): Promise<number> {
  session.hints = { agent }
  const tools = await session.connectAsAgent(control =>
    session.attend('Looking', on => control.tools({ agent, along: true }, on)),
  )
  if (session.json) await session.printJson(tools.map(toJson))
  else if (tools.length > 0) await session.out.write(listText(tools, session.out))
  else
    await session.notices.write(
      session.hasToken
        ? 'You have no tools. Ask the owner for some.\n'
        : `${escapeLine(`"${agent}" has no tools. Give it some: quartermaster grant ${agent} CAPABILITY`)}\n`,
    )
  if (!session.json && tools.length > 0)
    await session.notices.write('\nWhat one takes: quartermaster do COMMAND --help\n')
  return EXIT.done
}

function toJson(tool: ToolSummary): object {
  const { name, section, short, state, missing } = tool
  const command = decisionOf(tool)
  const how = 'name' in command ? { command: wordsOf(command) } : { none: command.none }
  return { ...how, tool: name, section, short, state, missing }
}

function listText(tools: readonly ToolSummary[], frame: Frame): string {
  const sections = [...new Set(tools.map(tool => tool.section))]
  return sections
    .map(section => {
      const own = tools.filter(tool => tool.section === section)
      return `${frame.paint.bold(escapeLine(section))}\n${fields(own.toSorted(wordsFirst).map(toEntry), frame)}`
    })
    .join('\n')
}

/** Those that are called by their names stand behind those that have a word. */
function wordsFirst(one: ToolSummary, other: ToolSummary): number {
  return Number('none' in decisionOf(one)) - Number('none' in decisionOf(other))
}

function toEntry(tool: ToolSummary): [string, string] {
  const command = decisionOf(tool)
  const notes = [
    'none' in command ? `Without a command: ${ended(command.none)} By its name: quartermaster call ${tool.name}` : '',
    tool.state === 'disabled' ? `Disabled: ${tool.missing.map(missingInWords).join('; ') || 'it is held back'}.` : '',
  ]
  return [
    `  ${'name' in command ? wordsOf(command) : `(${tool.name})`}`,
    [tool.short, ...notes].filter(Boolean).join(' '),
  ]
}

/** As a sentence that another follows. */
function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

type OwnCommand = Extract<CommandDecision, { name: string }>

/** A tool that has a word. */
type WordTool = ToolSummary & { readonly command: OwnCommand }

/** How a tool stands on the command line. */
function decisionOf({ command }: ToolSummary): CommandDecision {
  return command ?? { none: 'The server that answers here is too old to say its command.' }
}

/** All tools that have this word: one, and one for every flag. */
function toolsOf(tools: readonly ToolSummary[], word: string): WordTool[] {
  return tools.filter((tool): tool is WordTool => {
    const command = decisionOf(tool)
    return 'name' in command && command.name === word
  })
}

/** `delegate --async`. */
function wordsOf({ name, flag }: Pick<OwnCommand, 'name' | 'flag'>): string {
  return flag === undefined ? name : `${name} --${flag}`
}

/** The one that is meant: the one whose flag is written, and otherwise the one without. */
function chooseTool(tools: readonly ToolSummary[], word: string, line: readonly string[]): WordTool {
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
function isToolOf({ name }: ToolSummary, word: string): boolean {
  return name === word || name.replaceAll('_', '-') === word
}

/** The word may be the tool's own name, which `call` takes. */
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

/**
 * Throws `TOOL_DISABLED`, as a call would, where the word is that of a tool which is held back or listed no more. Such a tool is
 * in no list, so it is asked for by the names that make this word. Answers whether one of these is there now: its server may have
 * been asked for this what it has.
 */
async function refuseHeld(
  session: Session,
  control: Pick<AgentControl, 'tool'>,
  { tools, word }: { readonly tools: readonly ToolSummary[]; readonly word: string },
): Promise<boolean> {
  if (toolsOf(tools, word).length > 0 || tools.some(tool => isToolOf(tool, word))) return false
  for (const name of namesOf(word)) if (await isThere(session, control, name)) return true
  return false
}

async function isThere(session: Session, control: Pick<AgentControl, 'tool'>, name: string): Promise<boolean> {
  try {
    await session.attend('Looking', on => control.tool({ name }, on))
    return true
  } catch (error) {
    if (!isAppError(error) || error.code !== 'TOOL_NOT_FOUND') throw error
    return false
  }
}

/** `notes-read-page` may be `notes_read_page`, `notes_read-page` of a server that writes it so, and itself. */
function namesOf(word: string): Set<string> {
  return new Set([word.replaceAll('-', '_'), word.replace('-', '_'), word])
}

/** A server whose tools are not known yet, and why. */
interface Unseen {
  readonly name: string
  readonly reason: string
}

interface AskedForWord {
  readonly word: string
  readonly control: Pick<AgentControl, 'prompt'>
  /** Absent where a token says who asks. */
  readonly owner: Pick<Control, 'upstreams'> | undefined
}

/** Why no tool has a word: a server that was never connected may have it, and the person who wrote the word cannot know that. */
async function withUnseen(session: Session, error: unknown, asked: AskedForWord): Promise<unknown> {
  if (!isAppError(error) || error.code !== 'NAME_UNKNOWN') return error
  // A failure here must not hide the error itself.
  const unseen = await session.attend('Looking', () => unseenFor(session, asked)).catch(() => [])
  if (unseen.length === 0) return error
  return new AppError(error.code, `${error.message} ${unseenText(unseen, asked)}`)
}

/** Those that were to be met have been by now: this waits for none. */
async function unseenFor({ host: { signal } }: Session, { control, owner }: AskedForWord): Promise<Unseen[]> {
  if (owner) {
    const statuses = await owner.upstreams({}, { signal })
    return unseenAmong(statuses).map(({ name, reason, fix }) => ({ name, reason: `${sentence(reason)} ${fix}` }))
  }
  const { unseen = [] } = await control.prompt({}, { signal })
  return unseen.map(({ capability: name, reason }) => ({ name, reason: sentence(reason) }))
}

function unseenText(unseen: readonly Unseen[], { word, owner }: AskedForWord): string {
  const own = unseen.find(({ name }) => word === name || word.startsWith(`${name}-`) || word.startsWith(`${name}_`))
  if (own) return `"${own.name}" has not been seen yet, so its commands are not known: ${own.reason}`
  const names = unseen.map(({ name }) => `"${name}"`).join(', ')
  const [have, their] = unseen.length === 1 ? ['has', 'its'] : ['have', 'their']
  return `${names} ${have} not been seen yet, so ${their} commands are not known${owner ? ': quartermaster upstreams' : '.'}`
}
