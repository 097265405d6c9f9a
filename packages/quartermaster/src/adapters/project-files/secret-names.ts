import { AppError } from '../../contracts/index.ts'
import { freeName } from '../../core/kernel/index.ts'
import { secretNamesIn } from './references.ts'
import { secretUses } from './secret-uses.ts'

/** Whether something else refers to a secret of this name, there or not: whoever took it would be read by that, too. */
export type IsSpokenFor = (name: string) => boolean

export interface SpokenForOptions {
  readonly projectDir: string
  readonly configFile: string
  /** What the configuration says about everything else. */
  readonly others: unknown
}

/** More of one name than anybody has. */
const MOST_NUMBERS = 100

/** No secret and no file has it, so that only places which nobody could look at seem to name it. */
const NOBODYS_NAME = '\u0000'

/** Looks through the configuration, agents and code for these names, and for the numbered ones that could stand in for them. */
export async function lookWhoSpeaks(
  wanted: readonly string[],
  { projectDir, configFile, others }: SpokenForOptions,
): Promise<IsSpokenFor> {
  const names = new Set(wanted.flatMap(numbered))
  if (names.size === 0) return () => false
  const inConfig = new Set(secretNamesIn(others))
  const uses = await secretUses([...names, NOBODYS_NAME], { projectDir, configFile: undefined, except: configFile })
  // What could not be looked at would take every name there is.
  const unseen = new Set(uses.get(NOBODYS_NAME))
  return name => {
    if (!names.has(name)) throw tooMany(name)
    return inConfig.has(name) || (uses.get(name) ?? []).some(place => !unseen.has(place))
  }
}

/** The entry with its references to secrets under the names these have now. */
export function withSecretNames<T>(entry: T, names: Readonly<Record<string, string>>): T {
  // Behind another dollar sign it is no reference.
  const text = JSON.stringify(entry).replace(/(?<!\$)\$\{secret:([\w.-]+)\}/g, (whole, name: string) => {
    const now = Object.hasOwn(names, name) ? names[name] : undefined
    return now === undefined ? whole : `\${secret:${now}}`
  })
  return JSON.parse(text) as T
}

/** Whether a name is the other one, or the other one with a number that made it free. */
export function isNumberOf(name: string, other: string): boolean {
  return name === other || (name.startsWith(`${other}_`) && /^\d+$/.test(name.slice(other.length + 1)))
}

/** A name without the number that made it free. */
export function unnumbered(name: string): string {
  return name.replace(/(_\d+)+$/, '')
}

function numbered(name: string): string[] {
  const names: string[] = []
  // The one that is refused last ends the search.
  freeName(name, candidate => names.push(candidate) === MOST_NUMBERS)
  return names
}

function tooMany(name: string): AppError {
  return new AppError(
    'INPUT_INVALID',
    `There are too many secrets like "${name}". Remove some, or choose another name.`,
  )
}
