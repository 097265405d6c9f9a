import { Command, type ParseOptionsResult } from 'commander'
import { findOption, takesValue } from './completion/place.ts'

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
