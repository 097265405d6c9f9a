import { Command, type ParseOptionsResult } from 'commander'
import { findOption, takesValue } from './completion/place.ts'

/** Before a word that only looks like an option; no word of a command line can have it. */
const TEXT = '\0'

/** A command that takes "- milk" and "-Version 2 is out" for texts: whatever has a blank in its name is no option. */
export class TextCommand extends Command {
  override parseOptions(argv: string[]): ParseOptionsResult {
    const texts = this.textsIn(argv)
    const marked = argv.map((word, i) => (texts.has(i) && !this.#isValue(argv, i) ? `${TEXT}${word}` : word))
    const { operands, unknown } = super.parseOptions(marked)
    return { operands: operands.map(unmarked), unknown: unknown.map(unmarked) }
  }

  /** The places of the words that begin like options and are none. */
  protected textsIn(argv: readonly string[]): Set<number> {
    return new Set([...argv.keys()].filter(i => /^-[^=]*\s/.test(argv[i] ?? '')))
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
