import { basename } from 'node:path'
import { AppError } from '../../contracts/index.ts'
import { freeName } from '../../core/secrets/index.ts'
import { type Edit, editText } from './agent-entry.ts'
import { type Fields, isSameServer } from './config-text.ts'
import { problemsError } from './faults.ts'
import { parseDocument, splitByteOrderMark } from './json-document.ts'
import { applyChange, changesBetween, printLines } from './json-edit.ts'
import { secretNamesIn } from './references.ts'
import { type IsSpokenFor, isNumberOf, lookWhoSpeaks, withSecretNames } from './secret-names.ts'
import { readSecrets } from './secrets-file.ts'

/** The secrets that an entry refers to, under the names that were thought of for them. */
export interface WrittenSecrets {
  /** To be added to the secrets file. */
  readonly secrets: Readonly<Record<string, string>>
  /** Secrets without a value yet. What is in the secrets file is never taken for one. */
  readonly missing: readonly string[]
}

interface NamingPlace {
  readonly secretsFile: string
  readonly projectDir: string
  readonly configFile: string
  /** The part of the present entry that the new one replaces. */
  readonly stated: Fields
  /** The rest of the configuration. */
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
  /** The name that each one without a value has now, by the name that was asked for. */
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
 * since is its own. In any other entry they would belong to another.
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

/** Where secrets went. */
interface AddedSecrets {
  /** The name that each one has now, by the name that was asked for. */
  readonly names: Readonly<Record<string, string>>
  /** The newly added ones. */
  readonly added: readonly string[]
}

type Texts = Readonly<Record<string, string>>

/**
 * Adds texts to the secrets file, which is made when there is none. A name that has another text, or that something else
 * speaks for, is left alone, and the new text gets the next free one.
 */
async function addSecrets(
  file: string,
  secrets: Texts,
  { isSpokenFor, edit }: { isSpokenFor: IsSpokenFor; edit: Edit },
): Promise<AddedSecrets> {
  if (Object.keys(secrets).length === 0) return { names: {}, added: [] }
  const answer = await change(file, edit, known => {
    const after: Record<string, string> = { ...known }
    const names: Record<string, string> = {}
    for (const [name, text] of Object.entries(secrets)) {
      const free = freeName(checkedName(name), candidate =>
        Object.hasOwn(after, candidate) ? after[candidate] === text : !isSpokenFor(candidate),
      )
      after[free] = text
      names[name] = free
    }
    const added = Object.keys(after).filter(name => !Object.hasOwn(known, name))
    return { after, names, added }
  })
  return { names: answer.names, added: answer.added }
}

/** Takes texts out of the secrets file, and answers which. Names that are not there are passed over. */
export async function removeSecrets(file: string, names: readonly string[]): Promise<string[]> {
  if (names.length === 0 || !(await hasAny(file, names))) return []
  const removed: string[] = []
  await change(file, editText, known => {
    const [gone, kept] = [true, false].map(is => Object.entries(known).filter(([name]) => names.includes(name) === is))
    removed.push(...(gone ?? []).map(([name]) => name))
    return { after: Object.fromEntries(kept ?? []), names: {}, added: [] }
  })
  return removed
}

/** No file is made only to take something out of it. */
async function hasAny(file: string, names: readonly string[]): Promise<boolean> {
  const { secrets, problems } = await readSecrets(file)
  return problems.length > 0 || names.some(name => secrets?.get(name) !== undefined)
}

/** Unused names for texts without a value yet, so that no other secret is taken for them. */
async function nameMissing(
  file: string,
  wanted: readonly string[],
  isSpokenFor: IsSpokenFor,
): Promise<Record<string, string>> {
  if (wanted.length === 0) return {}
  const { secrets, problems } = await readSecrets(file)
  if (!secrets) throw problemsError('CONFIG_INVALID', 'The secrets file cannot be read:', problems)
  const names = new Map<string, string>()
  for (const name of wanted) {
    const isFree = (candidate: string) =>
      secrets.get(candidate) === undefined && ![...names.values()].includes(candidate) && !isSpokenFor(candidate)
    names.set(name, freeName(checkedName(name), isFree))
  }
  return Object.fromEntries(names)
}

/** Which of these are in the secrets file; unknown when it cannot be read. */
export async function secretsThere(file: string, names: readonly string[]): Promise<string[] | undefined> {
  const { secrets } = await readSecrets(file)
  return secrets && names.filter(name => secrets.get(name) !== undefined)
}

interface Changed extends AddedSecrets {
  readonly after: Texts
}

async function change(file: string, edit: Edit, next: (known: Texts) => Changed): Promise<Changed & { text: string }> {
  // The same look as before every use: a file that others can read is refused, not added to.
  const { problems } = await readSecrets(file)
  const errors = problems.filter(problem => problem.severity === 'error')
  if (errors.length > 0) throw problemsError('CONFIG_INVALID', 'The secrets file cannot be changed:', errors)
  const edited = { path: file, file: basename(file), code: 'CONFIG_INVALID', mode: 0o600, folderMode: 0o700 } as const
  return edit(edited, current => {
    const { mark, text } = splitByteOrderMark(current ?? '{}')
    const known = parseDocument(text).value as Texts
    const changed = next(known)
    if (current === undefined) return { ...changed, text: `${printLines(changed.after, { unit: '  ', eol: '\n' })}\n` }
    const changes = changesBetween({ written: known, before: known, after: changed.after })
    return { ...changed, text: mark + changes.reduce(applyChange, text) }
  })
}

function checkedName(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name) && !['__proto__', 'constructor', 'prototype'].includes(name)) return name
  throw new AppError('INPUT_INVALID', `A secret cannot be named ${JSON.stringify(name)}. Use A–Z a–z 0–9 _ . -`)
}
