import type { Input } from './inputs.ts'

/** What a build found out on its way, about one file or about all that went into a bundle. */
export interface BuildNotes {
  /** Every file that was read. */
  readonly inputs: Input[]
  /** What stands before the first line of a file, by path; places on that line are off by it. */
  readonly prefixes: Map<string, string>
  /** What was imported, by the address it is bound to. */
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
