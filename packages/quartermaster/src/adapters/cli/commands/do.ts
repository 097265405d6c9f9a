import { type Command, CommanderError } from 'commander'
import type { AgentControl, Control, ToolDetail, ToolSummary } from '../../../contracts/index.ts'
import { type CommandUsage, commandUsage } from '../../../core/kernel/index.ts'
import { addCallOptions, type CallOptions } from '../call-options.ts'
import { GrowingCommand, type GrowingLine } from '../completion/kinds.ts'
import { canAsk } from '../consent.ts'
import { defined } from '../defined.ts'
import { listCommands } from '../do-list.ts'
import { chooseTool, decisionOf, toolsOf, type WordTool, wordsOf } from '../do-words.ts'
import { UsageError } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { refuseHeld } from '../held-word.ts'
import { addExamples, type Register } from '../register.ts'
import { runCall } from '../run-call.ts'
import type { Session } from '../session.ts'
import { TextCommand } from '../text-command.ts'
import { type SameWord, toolCommand, toolInput } from '../tool-command.ts'
import { withUnseen } from '../unseen-word.ts'

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
    // The commands are known to whoever answers, and so are their options and their help.
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

/** Of all tools, whoever has them: for one that the agent does not have, the call says how it gets it. */
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

/** Servers that nobody has seen yet are waited for only where nothing that is known has the word. */
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
  // Nobody who uses a tool asks for our version, and the tool may have a parameter of that name.
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
