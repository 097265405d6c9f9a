import { join, relative } from 'node:path'
import type { Location, Message } from 'esbuild'
import type { Problem } from '../../contracts/index.ts'
import type { Entry } from './entries.ts'
import type { Input } from './inputs.ts'

/** A message of the bundler as a problem that a person can fix. */
export function toBuildProblem(message: Message, entry: Entry, root: string, notes: BuildNotes): Problem {
  const { text, fix } = explain(message)
  return problemAt(message.location && toPlace(message.location, root, notes), { entry, root, notes, text, fix })
}

/** Where in the sources something is; line and column count from 1. */
export interface Place {
  readonly path: string
  readonly line: number
  readonly column: number
}

interface ProblemDetails {
  readonly entry: Entry
  readonly root: string
  readonly notes: BuildNotes
  readonly text: string
  readonly fix: string
}

/** A problem that stands at a place, or, without one, in the entry as a whole. */
export function problemAt(place: Place | null | undefined, { entry, root, notes, text, fix }: ProblemDetails): Problem {
  // The entry is what was read first. It keeps the name it has in the project folder, also when it is a link.
  const isEntry = !place || place.path === notes.inputs[0]?.path
  const where = isEntry ? entry.id : relative(root, place.path).replaceAll('\\', '/')
  const message = place ? `${where}:${place.line}:${place.column}: ${text}` : text
  return { severity: 'error', code: 'DEFINITION_INVALID', where, message, fix }
}

function toPlace({ file, line, column }: Location, root: string, notes: BuildNotes): Place {
  const path = join(root, file)
  const prefix = line === 1 ? notes.prefixes.get(path) : undefined
  // The bundler counts bytes.
  return { path, line, column: column + 1 - Buffer.byteLength(prefix ?? '') }
}

interface Explanation {
  text: string
  fix: string
}

const PACKAGE = /^(@[a-z0-9-][\w.-]*\/)?[a-z0-9-][\w.-]*/i
const CORRECT = 'Correct the file and reload.'

function explain(message: Message): Explanation {
  const own = message.detail as { fix?: string } | undefined
  if (own?.fix !== undefined) return { text: message.text, fix: own.fix }
  const specifier = /^Could not resolve "(.+)"$/.exec(message.text)?.[1]
  if (specifier === undefined) return { text: ended(message.text), fix: CORRECT }
  return message.location
    ? explainMissing(specifier, message)
    : { text: 'It cannot be read.', fix: 'Make it a readable file, or remove it.' }
}

function explainMissing(specifier: string, message: Message): Explanation {
  const hidden = message.notes.find(note => note.text.includes('is not exported by package'))
  const name = PACKAGE.exec(specifier)?.[0]
  if (hidden) return { text: ended(hidden.text), fix: `Import a path that package "${name}" exports, or update it.` }
  if (/^[./\\]/.test(specifier))
    return { text: `"${specifier}" does not exist.`, fix: 'Create that file, or correct the path.' }
  if (name === undefined) return { text: `"${specifier}" does not exist.`, fix: 'Correct the import.' }
  return {
    text: `Package "${name}" is not installed ("${specifier}" cannot be found).`,
    fix: `Run: npm install ${name}`,
  }
}

function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text.replace(/:$/, '')}.`
}

/** What a build learned about one file, or about all files of a bundle. */
export interface BuildNotes {
  /** Every file that was read. */
  readonly inputs: Input[]
  /** Text inserted before the first line of a file, by path; columns on that line are shifted by it. */
  readonly prefixes: Map<string, string>
  /** The imported names, by resolved address. */
  readonly externals: Map<string, string>
  /** Whether an import could not be found although the build may have succeeded (`import('x').catch(…)`). */
  unresolved: boolean
}

/** The notes of one build, by file, because its bundles share files. */
export interface NoteBook {
  /** The notes about one file, to be written to. */
  about(path: string): BuildNotes
  /** The files with notes, in the order in which they came. */
  paths(): string[]
  /** The notes about several files in one. */
  merged(paths: Iterable<string>): BuildNotes
}

export function createNoteBook(): NoteBook {
  const notes = new Map<string, BuildNotes>()
  return {
    about(path) {
      const about = notes.get(path) ?? emptyNotes()
      notes.set(path, about)
      return about
    },
    paths: () => [...notes.keys()],
    merged(paths) {
      const merged = emptyNotes()
      for (const path of paths) addNotes(merged, notes.get(path))
      return merged
    },
  }
}

function emptyNotes(): BuildNotes {
  return { inputs: [], prefixes: new Map(), externals: new Map(), unresolved: false }
}

function addNotes(all: BuildNotes, more: BuildNotes | undefined): void {
  if (!more) return
  all.inputs.push(...more.inputs)
  for (const [path, prefix] of more.prefixes) all.prefixes.set(path, prefix)
  for (const [url, specifier] of more.externals) all.externals.set(url, specifier)
  all.unresolved ||= more.unresolved
}
