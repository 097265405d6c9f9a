import { SourceMap } from 'node:module'
import { fileURLToPath } from 'node:url'
import { messageOf, type Problem } from '../../contracts/index.ts'
import { type Place, problemAt } from './build-problem.ts'
import type { Bundle } from './bundler.ts'
import type { Entry } from './entries.ts'

/** A bundle that threw while it was imported, with the place in the sources where that happened. */
export function toImportProblem(
  error: unknown,
  { entry, bundle, file }: { entry: Entry; bundle: Bundle; file: string },
): Problem {
  const { root, notes } = bundle
  const text = `It failed while loading: ${withNames(messageOf(error), bundle)}`
  return problemAt(placeOf(error, bundle, file), { entry, root, notes, text, fix: 'Correct the file and reload.' })
}

/** A module that is still being imported after all the time it had. */
export function hangingProblem({ id }: Entry, ms: number): Problem {
  const message = `It was still loading after ${ms} ms.`
  const fix = 'Look for an await outside of functions that never ends, and move it into a tool or a probe.'
  return { severity: 'error', code: 'DEFINITION_INVALID', where: id, message, fix }
}

/** Node names modules by the address they were bound to; people know them by what they wrote. */
function withNames(message: string, { notes }: Bundle): string {
  let text = message
  for (const [url, specifier] of notes.externals) text = text.replaceAll(url, specifier)
  return text
}

function placeOf(error: unknown, bundle: Bundle, file: string): Place | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  const inBundle = findFrame(stack, file)
  if (inBundle) return toSource(inBundle, bundle)
  // Where source maps are switched on, the stack already speaks of the sources.
  for (const { path } of bundle.notes.inputs) {
    const frame = findFrame(stack, path)
    if (frame) return asWritten(frame, bundle)
  }
  return undefined
}

/** The first place in a file that a stack names. A module that cannot be linked has a line only. */
function findFrame(stack: string, path: string): Place | undefined {
  const at = stack.indexOf(`${path}:`)
  if (at < 0) return undefined
  const [, line, column] = /^:(\d+)(?::(\d+))?/.exec(stack.slice(at + path.length)) ?? []
  return line === undefined ? undefined : { path, line: Number(line), column: Number(column ?? 1) }
}

function toSource(frame: Place, bundle: Bundle): Place | undefined {
  const { code } = bundle
  const encoded = code.slice(code.lastIndexOf('base64,') + 'base64,'.length)
  const payload = JSON.parse(Buffer.from(encoded, 'base64').toString())
  const found = new SourceMap(payload).findEntry(frame.line - 1, frame.column - 1)
  if (!('originalSource' in found)) return undefined
  const path = fileURLToPath(new URL(found.originalSource, payload.sourceRoot))
  return asWritten({ path, line: found.originalLine + 1, column: found.originalColumn + 1 }, bundle)
}

/** The place without what the bundler put before the first line. */
function asWritten({ path, line, column }: Place, { notes }: Bundle): Place {
  const prefix = (line === 1 && notes.prefixes.get(path)) || ''
  return { path, line, column: Math.max(1, column - prefix.length) }
}
