import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { parseDocument } from './json-document.ts'
import { secretNamesIn } from './references.ts'
import { beginsAsText, isAbsent, readText, type TextRead } from './text-file.ts'

export interface SecretUsesOptions {
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
  // What cannot be read as it is may name it all the same.
  if (value === undefined) return note(place, name => read.text.includes(name))
  const named = new Set(secretNamesIn(value))
  note(place, name => named.has(name))
}

const isAgent = (place: string) => /^agents[\\/][^\\/]+\.jsonc?$/.test(place)
const isKnowledge = (place: string) => /^knowledge[\\/]/.test(place)
const isCode = (place: string) => /^capabilities[\\/]/.test(place) || /\.[cm]?[jt]sx?$/.test(place)
const isLookedAt = (place: string) => isKnowledge(place) || isCode(place) || /\.jsonc?$/.test(place)
const notLookedAt = (place: string) => `${place} (not looked at)`

/** More than anybody writes by hand. */
const MOST_ENTRIES = 20_000

/** What may name a secret, and where nobody looked: beyond links, in folders that are closed, and in one that is too large. */
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

/** What others installed, and what begins with a dot, is not the project's. */
async function entriesOf(folder: string, onClosed: () => void): Promise<Dirent[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
  } catch (error) {
    if (!isAbsent(error)) onClosed()
    return []
  }
}
