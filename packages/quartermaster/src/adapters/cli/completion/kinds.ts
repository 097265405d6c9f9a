import { Argument, Command, Option, type ParseOptionsResult } from 'commander'
import type { AgentControl } from '../../../contracts/index.ts'
import { findOption, takesValue } from './cursor.ts'

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
