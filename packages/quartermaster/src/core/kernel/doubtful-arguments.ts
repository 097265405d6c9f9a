import { doubtfulOptions } from './argument-secrets.ts'
import { programLines } from './command-line.ts'
import { packageRunIn } from './package-run.ts'

/** What to know about the arguments of an entry that may be secrets, and are none for certain. */
export function doubtfulArguments({ command, args }: Readonly<Record<string, unknown>>): string[] {
  const words = Array.isArray(args) ? args.map(String) : []
  const lines = typeof command === 'string' ? programLines(command, words) : []
  // What a runner such as npx or docker is told itself are ports and packages.
  const options = new Set(
    lines.flatMap(line => doubtfulOptions(line.words.slice(Math.max(1, ...(packageRunIn(line)?.packages ?? []))))),
  )
  if (options.size === 0) return []
  return [
    `What stands behind ${[...options].join(' and ')} among its arguments may be a secret, and is left there. If it is one, put it ` +
      'into secrets.json and write "${secret:NAME}" in its place.',
  ]
}
