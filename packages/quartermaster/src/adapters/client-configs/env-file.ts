import { dirname, resolve } from 'node:path'
import type { ClientPlace, ClientSurroundings } from './places.ts'
import { readBounded } from './read-bounded.ts'
import { fillIn } from './variables.ts'

/** The variables that a client reads from a file beside those of the entry. */
export type EnvFile =
  | { readonly file: string; readonly values: Readonly<Record<string, string>> }
  | { readonly file: string; readonly problem: string }

/** Variables by hand; a larger file was meant for something else. */
const MAX_BYTES = 1024 * 1024

/** Reads the `envFile` of an entry. It counts from the workspace, or from beside the file that names it. */
export async function readEnvFile(
  written: string,
  { workspace, file }: Pick<ClientPlace, 'workspace' | 'file'>,
  { home, env }: ClientSurroundings,
): Promise<EnvFile> {
  const path = fillIn(written, { workspace, home, env })
  if (path === undefined) return { file: written, problem: 'holds a variable that cannot be filled in here' }
  const places = [...new Set([workspace, dirname(file)].map(folder => resolve(folder, path)))]
  for (const place of places) {
    const read = await readBounded(place, MAX_BYTES)
    if ('text' in read) return { file: place, values: variablesIn(read.text) }
    if (read.found) return { file: place, problem: `cannot be used (${read.problem})` }
  }
  return { file: places[0] ?? path, problem: 'is not there' }
}

// A name, and a text in quotes over any number of lines or without them to the end of the line.
const LINE =
  /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*(?:'([^']*)'|"((?:\\[^]|[^"\\])*)"|`([^`]*)`|([^\r\n]*))/gm

function variablesIn(text: string): Record<string, string> {
  const found = text.matchAll(LINE)
  return Object.fromEntries(
    [...found].map(([, name = '', single, double, tick, plain = '']) => [
      name,
      single ?? (double === undefined ? undefined : unescaped(double)) ?? tick ?? withoutRemark(plain),
    ]),
  )
}

function unescaped(text: string): string {
  return text.replace(/\\([nrt"\\])/g, (_all, letter: string) => ESCAPES[letter] ?? letter)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

function withoutRemark(text: string): string {
  return text.replace(/(?:^|\s)#.*$/, '').trim()
}
