import type { Argument, Command, Option } from 'commander'

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
