import { Argument, Command, Option, type ParseOptionsResult } from 'commander'
import type { AgentControl } from '../../../contracts/index.ts'

/** Marks a word that only looks like an option; no word of a command line can contain it. */
const TEXT = '\0'

/**
 * A command that takes "- milk" and "-Version 2 is out" for texts: an option has no blank in its name.
 * "-x=1 and more" is a text too, where there is no option "-x".
 */
export class TextCommand extends Command {
  override parseOptions(argv: string[]): ParseOptionsResult {
    const texts = this.textsIn(argv)
    const marked = argv.map((word, i) => (texts.has(i) && !this.#isValue(argv, i) ? `${TEXT}${word}` : word))
    const { operands, unknown } = super.parseOptions(marked)
    return { operands: operands.map(unmarked), unknown: unknown.map(unmarked) }
  }

  /** The positions of the words that begin like options and are none. */
  protected textsIn(argv: readonly string[]): Set<number> {
    return new Set([...argv.keys()].filter(i => this.#isText(argv[i] ?? '')))
  }

  #isText(word: string): boolean {
    if (/^-[^=]*\s/.test(word)) return true
    // An unknown long name is more likely a misspelled option than a text.
    const [, name] = /^(-[^-=][^=]*)=[^]*\s/.exec(word) ?? []
    return name !== undefined && !findOption(this, name.slice(0, 2))
  }

  /** The parser takes whatever follows an option with a value, and passes it on unchanged. */
  #isValue(argv: readonly string[], i: number): boolean {
    const option = findOption(this, argv[i - 1] ?? '')
    return option !== undefined && takesValue(option) && this.options.includes(option)
  }
}

function unmarked(word: string): string {
  return word.startsWith(TEXT) ? word.slice(TEXT.length) : word
}

/** What an argument or the value of an option names, for completion. */
export type CompletionKind = 'tool' | 'agent' | 'capability' | 'upstream' | 'section' | 'anything' | 'files' | 'dirs'

export class CompletingArgument extends Argument {
  readonly completes: CompletionKind

  constructor(name: string, description: string, completes: CompletionKind) {
    super(name, description)
    this.completes = completes
  }
}

export class CompletingOption extends Option {
  readonly completes: CompletionKind

  constructor(flags: string, description: string, completes: CompletionKind) {
    super(flags, description)
    this.completes = completes
  }
}

/** A command whose subcommands are known only to the server that answers. */
export class DynamicCommand extends TextCommand {
  /** Adds the subcommands that completing the line needs. */
  readonly addSubcommands: (command: Command, control: AgentControl, line: DynamicLine) => Promise<void>

  constructor(name: string, addSubcommands: DynamicCommand['addSubcommands']) {
    super(name)
    this.addSubcommands = addSubcommands
  }
}

export interface DynamicLine {
  readonly words: readonly string[]
  /** The words behind the command, without options and their values, and without the one at the cursor. */
  readonly given: readonly string[]
  /** The agent that the line names. */
  readonly agent: string | undefined
}

/** Where in the command line the cursor is. */
export interface Cursor {
  readonly command: Command
  /** The word so far. */
  readonly current: string
  /** The option whose value is being written. */
  readonly option: Option | undefined
  /** The argument that is being written. */
  readonly argument: Argument | undefined
  /** Whether a subcommand can stand here. */
  readonly takesCommand: boolean
  /** Whether options are over, after `--`. */
  readonly literal: boolean
  /** The words behind the command that are no options and no values of options. */
  readonly given: readonly string[]
  readonly config: string | undefined
  readonly data: string | undefined
  readonly agent: string | undefined
}

/** Reads the words before the cursor the way the parser would. */
export function findCursor(program: Command, words: readonly string[]): Cursor {
  const state: ParseState = { command: program, given: [], literal: false, pending: undefined, values: {} }
  for (const word of words.slice(0, -1)) step(state, word)
  const { command, given, literal, pending, values } = state
  const last = command.registeredArguments.at(-1)
  return {
    command,
    current: words.at(-1) ?? '',
    option: pending,
    argument: command.registeredArguments[given.length] ?? (last?.variadic ? last : undefined),
    takesCommand: given.length === 0 && !literal,
    literal,
    given,
    config: values.config,
    data: values.data,
    agent: values.agent,
  }
}

/** The option a word names, of this command or of a parent. */
export function findOption(command: Command, word: string): Option | undefined {
  const own = command.options.find(option => option.long === word || option.short === word)
  return own ?? (command.parent ? findOption(command.parent, word) : undefined)
}

function takesValue(option: Option): boolean {
  return option.required || option.optional
}

interface ParseState {
  command: Command
  given: string[]
  literal: boolean
  /** The option whose value comes next. */
  pending: Option | undefined
  values: Record<string, string | undefined>
}

function step(state: ParseState, word: string): void {
  if (state.literal) {
    state.given.push(word)
  } else if (word === '--') {
    state.literal = true
    state.pending = undefined
  } else if (state.pending && !(state.pending.variadic && isOption(word))) {
    state.values[state.pending.attributeName()] = word
    state.pending = state.pending.variadic ? state.pending : undefined
  } else if (isOption(word)) {
    const [flag = word, value] = word.split(/=(.*)/s)
    const option = findOption(state.command, flag)
    state.pending = option && takesValue(option) && value === undefined ? option : undefined
    if (option && value !== undefined) state.values[option.attributeName()] = value
  } else {
    const isFirst = state.given.length === 0
    const subcommand = isFirst ? state.command.commands.find(command => command.name() === word) : undefined
    if (subcommand) state.command = subcommand
    else state.given.push(word)
  }
}

function isOption(word: string): boolean {
  return word.length > 1 && word.startsWith('-')
}
