import { Argument, Command, Option, type ParseOptionsResult } from 'commander'
import type { AgentControl } from '../../../contracts/index.ts'

/** Before a word that only looks like an option; no word of a command line can have it. */
const TEXT = '\0'

/**
 * A command that takes "- milk" and "-Version 2 is out" for texts: whatever has a blank in its name is no option.
 * Nor is "-x=1 and more", where there is no "-x".
 */
export class TextCommand extends Command {
  override parseOptions(argv: string[]): ParseOptionsResult {
    const texts = this.textsIn(argv)
    const marked = argv.map((word, i) => (texts.has(i) && !this.#isValue(argv, i) ? `${TEXT}${word}` : word))
    const { operands, unknown } = super.parseOptions(marked)
    return { operands: operands.map(unmarked), unknown: unknown.map(unmarked) }
  }

  /** The places of the words that begin like options and are none. */
  protected textsIn(argv: readonly string[]): Set<number> {
    return new Set([...argv.keys()].filter(i => this.#isText(argv[i] ?? '')))
  }

  #isText(word: string): boolean {
    if (/^-[^=]*\s/.test(word)) return true
    // A long name that is not known is more likely misspelled than meant as a text.
    const [, name] = /^(-[^-=][^=]*)=[^]*\s/.exec(word) ?? []
    return name !== undefined && !findOption(this, name.slice(0, 2))
  }

  /** The parser takes whatever follows an option with a value, and hands it over as it stands. */
  #isValue(argv: readonly string[], i: number): boolean {
    const option = findOption(this, argv[i - 1] ?? '')
    return option !== undefined && takesValue(option) && this.options.includes(option)
  }
}

function unmarked(word: string): string {
  return word.startsWith(TEXT) ? word.slice(TEXT.length) : word
}

/** What can stand at a place of the command line, beside fixed choices. */
export type CompletionKind = 'tool' | 'agent' | 'capability' | 'upstream' | 'section' | 'anything' | 'files' | 'dirs'

/** An argument that knows what can stand there. */
export class CompletingArgument extends Argument {
  readonly completes: CompletionKind

  constructor(name: string, description: string, completes: CompletionKind) {
    super(name, description)
    this.completes = completes
  }
}

/** An option that knows what its value can be. */
export class CompletingOption extends Option {
  readonly completes: CompletionKind

  constructor(flags: string, description: string, completes: CompletionKind) {
    super(flags, description)
    this.completes = completes
  }
}

/** A command whose subcommands are known only to the server that answers. */
export class GrowingCommand extends TextCommand {
  /** Adds them, as far as completing these words needs it. */
  readonly grow: Grow

  constructor(name: string, grow: Grow) {
    super(name)
    this.grow = grow
  }
}

type Grow = (command: Command, control: AgentControl, line: GrowingLine) => Promise<void>

export interface GrowingLine {
  readonly words: readonly string[]
  /** Those that stand behind the command, without its options and their values, and without the one at the cursor. */
  readonly given: readonly string[]
  /** As whom, where the line says it. */
  readonly agent: string | undefined
}

/** Where in the command line the cursor is. */
export interface Place {
  command: Command
  /** The word so far. */
  current: string
  /** The option whose value is being written. */
  option?: Option | undefined
  /** The argument that stands here. */
  argument?: Argument | undefined
  /** Whether a subcommand may stand here. */
  takesCommand: boolean
  /** Whether options are over, after `--`. */
  literal: boolean
  /** The words behind the command that are no options and no values of options. */
  given: readonly string[]
  /** Values of the global options on the way. */
  config?: string | undefined
  data?: string | undefined
  /** The agent that the line names. */
  agent?: string | undefined
}

/** Walks the words before the cursor the way the parser would. */
export function findPlace(program: Command, words: readonly string[]): Place {
  const state: Walk = { command: program, given: [], literal: false, pending: undefined, values: {} }
  for (const word of words.slice(0, -1)) step(state, word)
  const { command, given, literal, pending, values } = state
  const position = given.length
  const last = command.registeredArguments.at(-1)
  return {
    command,
    current: words.at(-1) ?? '',
    option: pending,
    argument: command.registeredArguments[position] ?? (last?.variadic ? last : undefined),
    takesCommand: position === 0 && !literal,
    literal,
    given,
    config: values.config,
    data: values.data,
    agent: values.agent,
  }
}

/** The option a word names, here or among the global ones. */
export function findOption(command: Command, word: string): Option | undefined {
  const own = command.options.find(option => option.long === word || option.short === word)
  return own ?? (command.parent ? findOption(command.parent, word) : undefined)
}

/** Whether an option is followed by a value. */
export function takesValue(option: Option): boolean {
  return option.required || option.optional
}

interface Walk {
  command: Command
  given: string[]
  literal: boolean
  pending: Option | undefined
  values: Record<string, string | undefined>
}

function step(state: Walk, word: string): void {
  if (state.literal) {
    state.given.push(word)
  } else if (word === '--') {
    state.literal = true
    state.pending = undefined
  } else if (state.pending && !(state.pending.variadic && isOption(word))) {
    state.values[state.pending.attributeName()] = word
    state.pending = state.pending.variadic ? state.pending : undefined
  } else if (isOption(word)) {
    stepOption(state, word)
  } else {
    stepWord(state, word)
  }
}

function stepOption(state: Walk, word: string): void {
  const [flag = word, value] = word.split(/=(.*)/s)
  const option = findOption(state.command, flag)
  state.pending = option && takesValue(option) && value === undefined ? option : undefined
  if (option && value !== undefined) state.values[option.attributeName()] = value
}

function stepWord(state: Walk, word: string): void {
  const subcommand =
    state.given.length === 0 ? state.command.commands.find(command => command.name() === word) : undefined
  if (subcommand) state.command = subcommand
  else state.given.push(word)
}

function isOption(word: string): boolean {
  return word.length > 1 && word.startsWith('-')
}
