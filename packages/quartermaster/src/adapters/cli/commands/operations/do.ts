import { type Command, CommanderError } from 'commander'
import {
  type AgentControl,
  AppError,
  type CommandDecision,
  isAppError,
  type ToolDetail,
  type ToolSummary,
} from '../../../../contracts/index.ts'
import { type CommandUsage, commandUsage, didYouMean, sentence } from '../../../../core/kernel/index.ts'
import { canAsk } from '../../ask.ts'
import { addExamples, printAnswer, type Register } from '../../command.ts'
import { DynamicCommand, type DynamicLine, TextCommand } from '../../completion/command-line.ts'
import { UsageError } from '../../errors.ts'
import { fields } from '../../output/layout.ts'
import { missingInWords } from '../../output/problem-text.ts'
import type { Frame } from '../../output/terminal.ts'
import { escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'
import { unconnectedAmong } from '../servers/upstream-status.ts'
import { type CallOptions, type Controls, callOptions, runCall } from './call.ts'
import { type SameWord, toolCommand, toolInput } from './tool-command.ts'

export const registerDo: Register = (program, act) => {
  const command = new DynamicCommand('do', addToolCommands)
  command
    .copyInheritedSettings(program)
    .description(
      'Use a tool by its own command, as an agent would: its arguments, options and help are those of the tool. Without a command, list them all.',
    )
    .usage('[COMMAND] [ARGUMENTS...] [options]')
    .argument('[COMMAND]', 'the command of a tool; --help after it says what it takes')
    .argument('[ARGUMENTS...]', 'what it takes; - as the last text reads it from standard input')
    // Only the server that answers knows the commands, their options and their help.
    .allowUnknownOption()
    .helpOption(false)
    .helpCommand(false)
    .option('-h, --help', 'print help, that of the command where one is named')
    .action((word: string | undefined, _: string[], options: CallOptions & { help?: boolean }) => {
      if (word === undefined && options.help) command.help()
      return act(session =>
        word === undefined ? listCommands(session, options) : runCommand(session, program, word, options),
      )
    })
  for (const option of callOptions()) command.addOption(option)
  addExamples(command, [
    ['quartermaster do', 'every command that the agent has'],
    ['quartermaster do delegate --help', 'what one of them takes'],
    ['quartermaster do read-file notes.txt --limit 20', 'use one'],
    ['git diff | quartermaster do delegate reviewer -', 'with the last text from standard input'],
  ])
  program.addCommand(command)
}

async function runCommand(session: Session, program: Command, word: string, options: CallOptions): Promise<number> {
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

/** Looks among all tools, also those of other agents: for a tool that the agent does not have, the call says how to get it. */
async function findCommand(session: Session, controls: Controls, word: string): Promise<FoundCommand> {
  const { control } = controls
  const known = await listTools(session, control, word)
  const isBack = await refuseHeld(session, control, known, word)
  const tools = isBack ? await listTools(session, control, word) : known
  let name: string
  try {
    name = chooseTool(tools, word, session.line).name
  } catch (error) {
    throw await withUnconnected(session, error, controls, word)
  }
  const tool = await session.attend('Looking', on => control.tool({ name }, on))
  return toFound(tool, tools, word)
}

/** Servers that were never connected are waited for only when no known tool has the word. */
async function listTools(session: Session, control: AgentControl, word: string): Promise<readonly ToolSummary[]> {
  const { signal } = session.host
  const known = await session.attend('Looking', () => control.tools({ along: true }, { signal }))
  if (toolsOf(known, word).length > 0) return known
  return await session.attend('Looking', on => control.tools({ along: true }, on))
}

function toFound(tool: ToolDetail, tools: readonly ToolSummary[], word: string): FoundCommand {
  const usage = commandUsage({ ...tool, command: decisionOf(tool), inputSchema: tool.input })
  if (!usage) throw new UsageError(`"${tool.name}" has lost its command just now. Run it again.`)
  const others = toolsOf(tools, word).flatMap(({ name, short, command: { flag } }): SameWord[] =>
    name === tool.name || flag === undefined ? [] : [{ flag, short }],
  )
  return { tool, usage, command: toolCommand(tool, usage, others) }
}

/** Reads the line once more, now that the command is known, with the same options before and behind it. */
async function parse(line: readonly string[], program: Command, { command, usage }: FoundCommand): Promise<void> {
  const whole = new TextCommand(program.name()).copyInheritedSettings(program)
  // After the command of a tool, `--version` may be a parameter of the tool.
  for (const option of program.options) if (option.long !== '--version') whole.addOption(option)
  const outer = new TextCommand('do').copyInheritedSettings(whole)
  for (const option of callOptions()) outer.addOption(option)
  whole.addCommand(outer.addCommand(command.copyInheritedSettings(whole)))
  // The caller runs the tool; without an action a command prints its help.
  command.action(() => {})
  await whole.parseAsync([...line], { from: 'user' }).catch(error => {
    if (!(error instanceof CommanderError) || error.exitCode === 0) throw error
    const isUnknown = error.code === 'commander.unknownOption' && usage.positional.some(({ takesRest }) => takesRest)
    const hint =
      isUnknown && !error.message.includes('(Did you mean') ? '\nWrite -- before a text that begins with -.' : ''
    throw new UsageError(`${error.message.replace(/^error: /, '')}${hint}`, `do ${wordsOf(usage)}`)
  })
}

/** For completion: adds the commands of the agent's tools, with arguments and options for the one that is written. */
async function addToolCommands(
  command: Command,
  control: AgentControl,
  { words, given, agent = 'default' }: DynamicLine,
): Promise<void> {
  const tools = await control.tools({ agent })
  const names = new Set(tools.flatMap(tool => decisionOf(tool)).flatMap(one => ('name' in one ? one.name : [])))
  const written = given.slice(0, 1).find(word => names.has(word))
  for (const name of names) {
    const [first] = toolsOf(tools, name)
    if (name !== written) command.command(name).description(escapeLine(first?.short ?? ''))
  }
  if (written === undefined) return
  const { name } = chooseTool(tools, written, words.slice(0, -1))
  const found = toFound(await control.tool({ name }), tools, written)
  command.addCommand(found.command.copyInheritedSettings(command))
}

/** Prints every command of an agent, section by section. */
async function listCommands(session: Session, { agent }: CallOptions): Promise<number> {
  session.hints = { agent }
  const tools = await session.connectAsAgent(control =>
    session.attend('Looking', on => control.tools({ agent, along: true }, on)),
  )
  const none = session.hasToken
    ? 'You have no tools. Ask the owner for some.'
    : `"${agent}" has no tools. Give it some: quartermaster grant ${agent} CAPABILITY`
  if (tools.length === 0) return printAnswer(session, [], { notice: `${escapeLine(none)}\n` })
  return printAnswer(session, tools.map(toJson), {
    text: listText(tools, session.out),
    notice: '\nWhat one takes: quartermaster do COMMAND --help\n',
  })
}

function toJson(tool: ToolSummary): object {
  const { name, section, short, state, missing } = tool
  const decision = decisionOf(tool)
  const command = 'name' in decision ? { command: wordsOf(decision) } : decision
  return { ...command, tool: name, section, short, state, missing }
}

function listText(tools: readonly ToolSummary[], frame: Frame): string {
  const sections = [...new Set(tools.map(tool => tool.section))]
  // Tools without a command stand behind the others.
  const rank = (tool: ToolSummary) => Number('none' in decisionOf(tool))
  return sections
    .map(section => {
      const own = tools.filter(tool => tool.section === section).toSorted((a, b) => rank(a) - rank(b))
      return `${frame.paint.bold(escapeLine(section))}\n${fields(own.map(toEntry), frame)}`
    })
    .join('\n')
}

function toEntry(tool: ToolSummary): [string, string] {
  const command = decisionOf(tool)
  const notes = [
    'none' in command
      ? `Without a command: ${/[.!?]$/.test(command.none) ? command.none : `${command.none}.`} By its name: quartermaster call ${tool.name}`
      : '',
    tool.state === 'disabled' ? `Disabled: ${tool.missing.map(missingInWords).join('; ') || 'it is held back'}.` : '',
  ]
  return [
    `  ${'name' in command ? wordsOf(command) : `(${tool.name})`}`,
    [tool.short, ...notes].filter(Boolean).join(' '),
  ]
}

type OwnCommand = Extract<CommandDecision, { name: string }>

/** A tool that has a command. */
type CommandTool = ToolSummary & { readonly command: OwnCommand }

function decisionOf({ command }: ToolSummary): CommandDecision {
  return command ?? { none: 'The server that answers here is too old to say its command.' }
}

/** All tools whose command is this word: one without a flag, and one for every flag. */
function toolsOf(tools: readonly ToolSummary[], word: string): CommandTool[] {
  return tools.filter((tool): tool is CommandTool => {
    const command = decisionOf(tool)
    return 'name' in command && command.name === word
  })
}

/** `delegate --async`. */
function wordsOf({ name, flag }: Pick<OwnCommand, 'name' | 'flag'>): string {
  return flag === undefined ? name : `${name} --${flag}`
}

/** The tool whose flag is written, and otherwise the one without a flag. */
function chooseTool(tools: readonly ToolSummary[], word: string, line: readonly string[]): CommandTool {
  const all = toolsOf(tools, word)
  if (all.length === 0) throw unknownWord(tools, word, line)
  const end = line.indexOf('--')
  const before = end < 0 ? line : line.slice(0, end)
  const flagged = all.filter(({ command: { flag } }) => flag !== undefined && before.includes(`--${flag}`))
  const quoted = (some: readonly CommandTool[]) => some.map(one => `"${wordsOf(one.command)}"`)
  if (flagged.length > 1) throw new UsageError(`${quoted(flagged).join(' and ')} are two commands. Write one of them.`)
  const chosen = flagged[0] ?? all.find(({ command }) => command.flag === undefined)
  if (chosen) return chosen
  throw new UsageError(`There is no "${word}" alone. Write ${quoted(all).join(' or ')}.`)
}

/** Whether the word is a tool's own name, with dashes or without. */
function isNameOf({ name }: ToolSummary, word: string): boolean {
  return name === word || name.replaceAll('_', '-') === word
}

/** The word may be the tool's own name, which `call` takes. */
function unknownWord(tools: readonly ToolSummary[], word: string, line: readonly string[]): Error {
  const tool = tools.find(one => isNameOf(one, word))
  if (!tool) {
    const words = new Set(tools.map(decisionOf).flatMap(one => ('name' in one ? one.name : [])))
    const joined = joinedWords(word, line).find(one => words.has(one))
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
function joinedWords(word: string, line: readonly string[]): string[] {
  const [, ...rest] = line.slice(line.indexOf(word, line.indexOf('do') + 1))
  const end = rest.findIndex(one => one.startsWith('-'))
  const following = end < 0 ? rest : rest.slice(0, end)
  return following.map((_, last) => [word, ...following.slice(0, last + 1)].join('-'))
}

/**
 * Throws `TOOL_DISABLED`, as a call would, for the command of a tool that is held back or no longer listed. Such a tool is in no
 * list, so the names that make this command are looked up. Answers whether one of them exists now: the lookup may have
 * connected its server.
 */
async function refuseHeld(
  session: Session,
  control: AgentControl,
  tools: readonly ToolSummary[],
  word: string,
): Promise<boolean> {
  if (toolsOf(tools, word).length > 0 || tools.some(tool => isNameOf(tool, word))) return false
  // `notes-read-page` can be `notes_read_page`, `notes_read-page` where a server writes it so, and itself.
  for (const name of new Set([word.replaceAll('-', '_'), word.replace('-', '_'), word])) {
    try {
      await session.attend('Looking', on => control.tool({ name }, on))
      return true
    } catch (error) {
      if (!isAppError(error) || error.code !== 'TOOL_NOT_FOUND') throw error
    }
  }
  return false
}

/** An unknown command may be that of a server that was never connected, which the person cannot know. */
async function withUnconnected(session: Session, error: unknown, controls: Controls, word: string): Promise<unknown> {
  if (!isAppError(error) || error.code !== 'NAME_UNKNOWN') return error
  // A failure here must not hide the error itself.
  const servers = await session.attend('Looking', () => unconnectedServers(session, controls)).catch(() => [])
  if (servers.length === 0) return error
  const own = servers.find(({ name }) => word === name || word.startsWith(`${name}-`) || word.startsWith(`${name}_`))
  const names = servers.map(({ name }) => `"${name}"`).join(', ')
  const [have, their] = servers.length === 1 ? ['has', 'its'] : ['have', 'their']
  const look = controls.owner ? ': quartermaster upstreams' : '.'
  const why = own
    ? `"${own.name}" has not been seen yet, so its commands are not known: ${own.reason}`
    : `${names} ${have} not been seen yet, so ${their} commands are not known${look}`
  return new AppError(error.code, `${error.message} ${why}`)
}

/** Waits for no server: those that can be connected have been by now. */
async function unconnectedServers(
  { host: { signal } }: Session,
  { control, owner }: Controls,
): Promise<{ name: string; reason: string }[]> {
  if (owner) {
    const statuses = await owner.upstreams({}, { signal })
    return unconnectedAmong(statuses).map(({ name, reason, fix }) => ({ name, reason: `${sentence(reason)} ${fix}` }))
  }
  const { unseen = [] } = await control.prompt({}, { signal })
  return unseen.map(({ capability: name, reason }) => ({ name, reason: sentence(reason) }))
}
