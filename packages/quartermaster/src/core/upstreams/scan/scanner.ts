import type { UpstreamFinding } from '../../../contracts/index.ts'
import { type Clock, inTurns, isRecord, type Steps } from '../../kernel/index.ts'
import type { SeenDefinition } from '../listing.ts'
import { encodedIn, gapIn, hiddenIn } from './characters.ts'
import { type ComparedNames, compareNames, type KnownNames, mixedWordIn, nameFound, otherToolsIn } from './names.ts'
import { phrasesIn } from './phrases.ts'
import {
  type Found,
  type FoundString,
  isIdentifier,
  LONGEST_STRING,
  partsOf,
  plainText,
  stringsIn,
  wordsOf,
} from './text.ts'

/**
 * Looks through new and changed definitions of an upstream before agents see them. A strong finding holds a definition back
 * under `findings: hold`, a weak one is a warning. Definitions without findings may be left out of the answer.
 */
export interface Scanner {
  scan(
    definitions: readonly SeenDefinition[],
    names: KnownNames,
  ): Promise<ReadonlyMap<SeenDefinition, readonly UpstreamFinding[]>>
}

/** The built-in scanner. It works in steps, because thousands of definitions would block the event loop for a second. */
export function createScanner({ clock }: { clock: Pick<Clock, 'now' | 'breathe'> }): Scanner {
  return { scan: (definitions, names) => inTurns(scanAll(definitions, names), clock) }
}

function* scanAll(
  definitions: readonly SeenDefinition[],
  names: KnownNames,
): Steps<Map<SeenDefinition, readonly UpstreamFinding[]>> {
  const findings = new Map<SeenDefinition, readonly UpstreamFinding[]>()
  if (definitions.length === 0) return findings
  const compared = compareNames(names)
  for (const definition of definitions) findings.set(definition, yield* scanDefinition(definition.value, compared))
  return findings
}

const MOST_FINDINGS = 20

/** What a person should know about a definition before a model reads it; the strong findings come first. */
export function* scanDefinition(definition: unknown, names: ComparedNames): Steps<UpstreamFinding[]> {
  const findings = new Map<string, UpstreamFinding>()
  const strong = new Set<string>()
  const add = (found: Found | undefined, field: string) => {
    if (!found) return
    const key = `${found.rule} ${found.strength} ${field} ${found.message}`
    if (found.strength === 'strong') strong.add(key)
    if (!findings.has(key)) findings.set(key, { ...found, field })
  }
  const isResource = isRecord(definition) && 'uri' in definition && !('inputSchema' in definition)
  const strings = stringsIn(definition)
  let next = strings.next()
  for (; !next.done && strong.size < MOST_FINDINGS; next = strings.next()) {
    const { field, text } = next.value
    if (field === 'name') add(nameFound(text.slice(0, LONGEST_STRING), names), field)
    for (const part of partsOf(next.value))
      for (const found of foundIn(part, names, isResource)) yield add(found, field)
    if (text.length > LONGEST_STRING) add(TOO_LONG, field)
  }
  if (next.done && next.value) add(TOO_MUCH, '')
  const order = ({ strength }: UpstreamFinding) => (strength === 'strong' ? 0 : 1)
  return [...findings.values()].sort((a, b) => order(a) - order(b)).slice(0, MOST_FINDINGS)
}

function* foundIn(string: FoundString, names: ComparedNames, isResource: boolean): Generator<Found | undefined> {
  const { text, role, field } = string
  yield hiddenIn(string, isResource)
  yield gapIn(string)
  yield mixedWordIn(text)
  yield encodedIn(text)
  const plain = plainText(text)
  if (field !== 'name') yield* otherToolsIn(plain, names)
  yield* phrasesIn(plain, role)
  // What a name says by the words that it is made of.
  if (isIdentifier(text)) yield* phrasesIn(plainText(wordsOf(text)), role)
}

const UNREAD = { rule: 'padding', strength: 'strong', excerpt: '' } as const
const TOO_LONG: Found = { ...UNREAD, message: 'It is so long that its end was not scanned.' }
const TOO_MUCH: Found = { ...UNREAD, message: 'It has so many strings that not all were scanned.' }
