import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { AppError, type RemovedUpstream } from '../../contracts/index.ts'
import { freeName } from '../../core/secrets/index.ts'
import { parseDocument } from './json-document.ts'
import { secretNamesIn } from './references.ts'
import { beginsAsText, isAbsent, readText, type TextRead } from './text-file.ts'

/** Whether something else refers to a secret of this name, whether it exists or not: that would read a new secret, too. */
export type IsSpokenFor = (name: string) => boolean

interface SpokenForOptions {
  readonly projectDir: string
  readonly configFile: string
  /** The rest of the configuration. */
  readonly others: unknown
}

/** More of one name than any project has. */
const MOST_NUMBERS = 100

/** No secret and no file has it, so that only places that could not be searched seem to name it. */
const UNUSED_NAME = '\u0000'

/** Looks through the configuration, agents and code for these names, and for the numbered ones that could stand in for them. */
export async function lookWhoSpeaks(
  wanted: readonly string[],
  { projectDir, configFile, others }: SpokenForOptions,
): Promise<IsSpokenFor> {
  const names = new Set(wanted.flatMap(numbered))
  if (names.size === 0) return () => false
  const inConfig = new Set(secretNamesIn(others))
  const uses = await secretUses([...names, UNUSED_NAME], { projectDir, configFile: undefined, except: configFile })
  // A file that could not be read would take every name.
  const unseen = new Set(uses.get(UNUSED_NAME))
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

interface SecretUsesOptions {
  readonly projectDir: string
  readonly configFile: string | undefined
  /** A file that the caller has looked at. */
  readonly except?: string
}

/**
 * Where each of these secrets is named: in the configuration, in others that may be used instead of it, by agents, in code and
 * knowledge of the project. What could not be looked at may name all of them.
 */
export async function secretUses(
  names: readonly string[],
  { projectDir, configFile, except }: SecretUsesOptions,
): Promise<Map<string, string[]>> {
  const uses = new Map(names.map(name => [name, [] as string[]]))
  if (names.length === 0) return uses
  const note = (place: string, isNamed: (name: string) => boolean) => {
    for (const [name, places] of uses) if (isNamed(name)) places.push(place)
  }
  if (configFile !== undefined) await lookInJson(configFile, basename(configFile), note)
  const { files, unseen } = await filesIn(projectDir)
  for (const file of files.filter(file => file !== configFile && file !== except)) {
    const place = relative(projectDir, file)
    await lookerFor(place)(file, place, note)
  }
  for (const path of unseen) note(notLookedAt(relative(projectDir, path) || '.'), () => true)
  return uses
}

type Note = (place: string, isNamed: (name: string) => boolean) => void
type Look = (file: string, place: string, note: Note) => Promise<void>

function lookerFor(place: string): Look {
  if (isKnowledge(place)) return lookInKnowledge
  if (isCode(place)) return lookInCode
  return isAgent(place) ? lookInJson : lookInOtherJson
}

/** Pictures are normal among knowledge, and name nothing. */
const lookInKnowledge: Look = async (file, place, note) => {
  const read = await readText(file)
  const isPicture = read.kind === 'fault' && (read.is === 'large' ? !(await beginsAsText(file)) : read.is === 'binary')
  if (!isPicture) findWords(read, place, note)
}

/** Code asks for a secret by its name, however it is written around it. */
const lookInCode: Look = async (file, place, note) => findWords(await readText(file), place, note)

const lookInJson: Look = async (file, place, note) => findReferences(await readText(file), place, note)

/** It may be a configuration, and those are not that large. */
const lookInOtherJson: Look = async (file, place, note) => {
  const read = await readText(file)
  if (read.kind !== 'fault' || read.is !== 'large') findReferences(read, place, note)
}

function findWords(read: TextRead, place: string, note: Note): void {
  if (read.kind === 'fault') return note(notLookedAt(place), () => true)
  if (read.kind !== 'text') return
  // A sentence may end with it.
  const words = new Set(read.text.match(/[\w.-]+/g)?.flatMap(word => [word, word.replace(/[.-]+$/, '')]))
  note(place, name => words.has(name))
}

function findReferences(read: TextRead, place: string, note: Note): void {
  if (read.kind === 'fault') return note(notLookedAt(place), () => true)
  if (read.kind !== 'text') return
  const { value } = parseDocument(read.text)
  // A file that cannot be read may still name the secret.
  if (value === undefined) return note(place, name => read.text.includes(name))
  const named = new Set(secretNamesIn(value))
  note(place, name => named.has(name))
}

const isAgent = (place: string) => /^agents[\\/][^\\/]+\.jsonc?$/.test(place)
const isKnowledge = (place: string) => /^knowledge[\\/]/.test(place)
const isCode = (place: string) => /^capabilities[\\/]/.test(place) || /\.[cm]?[jt]sx?$/.test(place)
const isLookedAt = (place: string) => isKnowledge(place) || isCode(place) || /\.jsonc?$/.test(place)
const notLookedAt = (place: string) => `${place} (not looked at)`

/** More than a person writes by hand. */
const MOST_ENTRIES = 20_000

/** Places that may name a secret and were not searched: beyond links, in closed folders, and in one that is too large. */
async function filesIn(root: string): Promise<{ files: string[]; unseen: string[] }> {
  const [files, unseen, folders]: [string[], string[], string[]] = [[], [], [root]]
  let entries = 0
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    if (entries > MOST_ENTRIES) return { files, unseen: [...unseen, root] }
    for (const entry of await entriesOf(at, () => unseen.push(at))) {
      entries++
      const path = join(at, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (entry.isSymbolicLink()) unseen.push(path)
      else if (isLookedAt(relative(root, path))) files.push(path)
    }
  }
  return { files, unseen }
}

/** Installed packages and dot files are not the project's. */
async function entriesOf(folder: string, onClosed: () => void): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
  } catch (error) {
    if (!isAbsent(error)) onClosed()
    return []
  }
}

/** The outcome for secrets that an entry no longer needs. */
export type ReleasedSecrets = Pick<RemovedUpstream, 'removedSecrets' | 'keptSecrets'>

/**
 * Secrets that nothing but settings referred to which went on their own, by name, with what these are called. They are never taken
 * out: no person asked for that, a typo is enough, and there may be no other copy.
 */
export type SparedSecrets = Readonly<Record<string, readonly string[]>>

interface ReleaseOptions {
  /** Which of them are in the secrets file; absent where that cannot be read. */
  readonly there: readonly string[] | undefined
  readonly keep: boolean
  readonly spared: SparedSecrets
  /** Where each of them is named by now. */
  uses(names: readonly string[]): Promise<ReadonlyMap<string, string[]>>
}

/** Which of these secrets nothing names any more, and which stay and why. Nothing is taken out. */
export async function releasable(
  names: readonly string[],
  { there, keep, spared, uses: look }: ReleaseOptions,
): Promise<ReleasedSecrets> {
  const kept = (name: string, usedBy: string[]) => ({ name, usedBy, ...wasNeeded(spared, name) })
  if (keep || !there) return { removedSecrets: [], keptSecrets: (there ?? names).map(name => kept(name, [])) }
  const uses = await look(there)
  const stays = (name: string) => Object.hasOwn(spared, name) || uses.get(name)?.length !== 0
  return {
    removedSecrets: there.filter(name => !stays(name)),
    keptSecrets: there.filter(stays).map(name => kept(name, uses.get(name) ?? [])),
  }
}

function wasNeeded(spared: SparedSecrets, name: string): { wasFor?: string[] } {
  const settings = Object.hasOwn(spared, name) ? spared[name] : undefined
  return settings ? { wasFor: [...settings] } : {}
}
