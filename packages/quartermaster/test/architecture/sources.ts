import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Source files by their path below `src`, with forward slashes: `core/health/health.ts`. */
export type Sources = ReadonlyMap<string, string>

/** Everything below the folder that Node or the compiler would run. */
export function readSources(folder: string): Sources {
  return readFiles(folder, /\.[cm]?[jt]sx?$/)
}

/** Everything below the folder whose name ends so. */
export function readFiles(folder: string, ending: RegExp): Sources {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile() && ending.test(entry.name))
  const paths = files.map(file => join(file.parentPath, file.name)).sort()
  return new Map(paths.map(path => [relative(folder, path).split(sep).join('/'), readFileSync(path, 'utf8')]))
}

/** Tests may use whatever helps them, and so may what is written only for tests. */
export function isForTests(path: string): boolean {
  return /(^|\/)testing\//.test(path) || /\.test\.[cm]?[jt]sx?$/.test(path)
}
