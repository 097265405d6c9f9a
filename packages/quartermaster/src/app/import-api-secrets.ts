import { type ApiDocument, type SentSecret, schemesIn } from '../adapters/openapi/index.ts'
import { readSecrets } from '../adapters/project-files/index.ts'
import { AppError, type ImportedApi } from '../contracts/index.ts'
import type { Secrets } from '../core/catalogue/index.ts'
import { didYouMean } from '../core/kernel/index.ts'

/** The names that the owner has given, by what the document calls its ways to sign in. */
export function secretNamesOf(
  given: Readonly<Record<string, string>> | undefined,
  document: ApiDocument,
): ReadonlyMap<string, string> {
  const schemes = schemesIn(document)
  const names = new Map(Object.entries(given ?? {}))
  for (const [scheme, name] of names) {
    const known = didYouMean(scheme, schemes) || ` It has: ${schemes.join(', ') || 'none'}.`
    if (!schemes.includes(scheme))
      throw new AppError('NAME_UNKNOWN', `The document has no way to sign in that is called "${scheme}".${known}`)
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name))
      throw new AppError('INPUT_INVALID', `A secret cannot be named "${name}". Use A–Z a–z 0–9 _ . -`)
  }
  return names
}

export async function knownSecrets(file: string): Promise<Secrets> {
  const { secrets, problems } = await readSecrets(file)
  if (secrets) return secrets
  const why = problems.map(({ message, fix }) => [message, fix].filter(Boolean).join(' '))
  throw new AppError('CONFIG_INVALID', `The secrets file cannot be read:\n${why.join('\n')}`)
}

export interface SecretsAround {
  readonly known: Secrets
  readonly secretNames: ReadonlyMap<string, string>
}

/** The name comes out of the document. One that is there already would be sent wherever the document says. */
export function refuseTaken(sent: readonly SentSecret[], { known, secretNames }: SecretsAround): void {
  const taken = sent.filter(({ name, scheme }) => !secretNames.has(scheme) && known.get(name) !== undefined)
  if (taken.length === 0) return
  const lines = taken.map(
    ({ name, scheme, host }) =>
      `"${name}" is a secret that is there already, and it would be sent to ${host}. If that is meant, say --secret ${scheme}=${name}; if not, give another name there.`,
  )
  throw new AppError('NAME_TAKEN', `Nothing was imported.\n${[...new Set(lines)].join('\n')}`)
}

export function missingSecrets(sent: readonly SentSecret[], known: Secrets): ImportedApi['secrets'] {
  const needed = new Map(sent.map(({ name, what }) => [name, { name, what }]))
  return [...needed.values()].filter(({ name }) => known.get(name) === undefined)
}
