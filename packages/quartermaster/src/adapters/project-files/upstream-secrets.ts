import type { Fields } from './config-text.ts'
import { isSameServer } from './entry-parts.ts'
import { secretNamesIn } from './references.ts'
import { isNumberOf, lookWhoSpeaks, withSecretNames } from './secret-names.ts'
import { addSecrets, nameMissing, secretsThere } from './secrets-editor.ts'
import type { Edit } from './text-edit.ts'

/** The secrets that an entry refers to, under the names that were thought of for them. */
export interface WrittenSecrets {
  /** To be added to the secrets file. */
  readonly secrets: Readonly<Record<string, string>>
  /** Those that nobody gave yet. What is in the secrets file is never taken for one. */
  readonly missing: readonly string[]
}

export interface NamingPlace {
  readonly secretsFile: string
  readonly projectDir: string
  readonly configFile: string
  /** What stands in the place of the entry now, as far as the entry speaks of it. */
  readonly stated: Fields
  /** What the configuration says about everything else. */
  readonly others: unknown
  /** Is told what is in the secrets file only because of this entry, to be taken back when it is refused. */
  readonly added: string[]
  /** How the secrets file is changed. */
  readonly edit: Edit
}

/** An entry whose references name its own secrets. */
export interface NamedEntry {
  readonly entry: Fields
  /** Its secrets, by the names under which they are kept. */
  readonly texts: Readonly<Record<string, string>>
  /** The name that each one which nobody gave yet has now, by the name that was asked for. */
  readonly missing: Readonly<Record<string, string>>
}

/** Keeps the secrets of an entry, and gives all that it refers to names that are its own. */
export async function nameSecrets(
  entry: Fields,
  { secrets, missing }: WrittenSecrets,
  { secretsFile, projectDir, configFile, stated, others, added, edit }: NamingPlace,
): Promise<NamedEntry> {
  const isSpokenFor = await lookWhoSpeaks([...Object.keys(secrets), ...missing], { projectDir, configFile, others })
  const kept = await addSecrets(secretsFile, secrets, { isSpokenFor, edit })
  added.push(...kept.added)
  const given = withSecretNames(entry, kept.names)
  const names = sameNames(given, stated, missing) ?? (await nameMissing(secretsFile, missing, isSpokenFor))
  const there = (await secretsThere(secretsFile, Object.values(names))) ?? []
  return {
    entry: withSecretNames(entry, { ...kept.names, ...names }),
    texts: Object.fromEntries(Object.entries(kept.names).map(([name, now]) => [now, secrets[name] ?? ''])),
    missing: Object.fromEntries(Object.entries(names).filter(([, now]) => !there.includes(now))),
  }
}

/**
 * The names that an entry has for them already, where it is the same but for that: what was written into the secrets file
 * since is its own. In any other one they would be somebody else's.
 */
function sameNames(entry: Fields, stated: Fields, missing: readonly string[]): Record<string, string> | undefined {
  const known = secretNamesIn(stated)
  const names = Object.fromEntries(
    missing.flatMap(name => {
      const now = known.find(candidate => isNumberOf(candidate, name))
      return now === undefined ? [] : [[name, now]]
    }),
  )
  return isSameServer(stated, withSecretNames(entry, names)) ? names : undefined
}
