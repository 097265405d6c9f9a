import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { parseDocument } from './json-document.ts'
import { secretNamesIn } from './references.ts'
import { readText } from './text-file.ts'

export interface SecretUsesOptions {
  readonly projectDir: string
  readonly configFile: string | undefined
}

/** Where each of these secrets is named: in the configuration, by agents, in the code of capabilities. */
export async function secretUses(
  names: readonly string[],
  { projectDir, configFile }: SecretUsesOptions,
): Promise<Map<string, string[]>> {
  const uses = new Map(names.map(name => [name, [] as string[]]))
  if (names.length === 0) return uses
  const note = (place: string, isNamed: (name: string) => boolean) => {
    for (const [name, places] of uses) if (isNamed(name)) places.push(place)
  }
  if (configFile !== undefined) await lookInJson(configFile, basename(configFile), note)
  for (const [folder, look] of FOLDERS) {
    for (const file of await filesIn(join(projectDir, folder))) await look(file, relative(projectDir, file), note)
  }
  return uses
}

type Note = (place: string, isNamed: (name: string) => boolean) => void

async function lookInJson(file: string, place: string, note: Note): Promise<void> {
  const read = await readText(file)
  if (read.kind !== 'text') return
  const { value } = parseDocument(read.text)
  // What cannot be read as it is may name it all the same.
  if (value === undefined) return note(place, name => read.text.includes(name))
  const named = new Set(secretNamesIn(value))
  note(place, name => named.has(name))
}

/** Code asks for a secret by its name, however it is written around it. */
async function lookInCode(file: string, place: string, note: Note): Promise<void> {
  const read = await readText(file)
  if (read.kind !== 'text') return
  const words = new Set(read.text.match(/[\w.-]+/g))
  note(place, name => words.has(name))
}

const FOLDERS = [
  ['agents', lookInJson],
  ['capabilities', lookInCode],
  ['knowledge', lookInCode],
] as const

/** More than anybody writes by hand. */
const MOST_FILES = 5_000

async function filesIn(folder: string): Promise<string[]> {
  const files: string[] = []
  const folders = [folder]
  for (let at = folders.pop(); at !== undefined && files.length < MOST_FILES; at = folders.pop()) {
    for (const entry of await entriesOf(at)) {
      const path = join(at, entry.name)
      if (entry.isDirectory() && entry.name !== 'node_modules') folders.push(path)
      else if (!entry.isDirectory()) files.push(path)
    }
  }
  return files
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    // A project need not have all of them.
    return []
  }
}
