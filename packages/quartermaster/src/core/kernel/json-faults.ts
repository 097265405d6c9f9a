/** What is wrong with a text that is to be JSON, by the word that the parser has for it. */
export function jsonFault(code: string): string {
  return FAULTS[code] ?? 'This is not JSON.'
}

const FAULTS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'This is not a value: texts need double quotes.',
  InvalidNumberFormat: 'This number is not written as JSON writes numbers.',
  PropertyNameExpected: 'A name in double quotes is expected here.',
  ValueExpected: 'A value is expected here.',
  ColonExpected: 'A ":" is expected here.',
  CommaExpected: 'A "," is missing before this.',
  CloseBraceExpected: 'A "}" is missing.',
  CloseBracketExpected: 'A "]" is missing.',
  EndOfFileExpected: 'The text should end before this.',
  UnexpectedEndOfComment: 'This comment is never closed.',
  UnexpectedEndOfString: 'This text is never closed.',
  UnexpectedEndOfNumber: 'This number ends too early.',
  InvalidUnicode: 'This text has a "\\u" without four hexadecimal digits.',
  InvalidEscapeCharacter: 'This text has a "\\" before a character that takes none.',
  InvalidCharacter: 'This text has a control character; write it with "\\".',
}
