import type { Probe, ProbeVerdict } from '../../core/catalogue/index.ts'
import { orAborted } from './abort.ts'
import { findProgram } from './find-program.ts'
import { runProgram } from './run-program.ts'
import { codeOf, down, UP } from './verdict.ts'

export interface ProgramOptions {
  /** A name to be found on the PATH, or a path. */
  readonly command: string
  /** How the program is asked for its version. Default `['--version']`. */
  readonly versionArgs?: readonly string[]
  /** The version it must have. Without it the program is looked for, not run. */
  readonly version?: { readonly atLeast: string }
}

/** Looks whether a program is installed, and in which version. */
export function program({ command, versionArgs = ['--version'], version }: ProgramOptions): Probe {
  const wanted = version ? { versionArgs: [...versionArgs], atLeast: version.atLeast } : {}
  return {
    describe: { kind: 'program', command, ...wanted },
    async run({ signal }) {
      const found = await orAborted(findProgram(command), signal)
      if ('reason' in found) return down(found.reason)
      if (!version) return UP
      const run = await start(found.file, versionArgs, signal)
      return typeof run === 'string' ? down(`"${command}" ${run}`) : judge(command, run.text, version.atLeast)
    },
  }
}

/** What it printed, or why it could not be made to. */
async function start(file: string, args: readonly string[], signal: AbortSignal): Promise<{ text: string } | string> {
  try {
    const { text, code } = await runProgram(file, args, signal)
    if (code === 0) return { text }
    return `${code === null ? 'was killed' : `ended with code ${code}`} when asked for its version.`
  } catch (error) {
    const code = codeOf(error)
    // It is there and executable, yet not for this machine, or its interpreter is missing.
    if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOEXEC') return `cannot be started (${code}).`
    throw error
  }
}

function judge(command: string, text: string, atLeast: string): ProbeVerdict {
  const version = versionIn(text)
  if (!version) throw new Error(`"${command}" did not print a version.`)
  return compare(version, atLeast) < 0 ? down(`"${command}" is ${version}, at least ${atLeast} is needed.`) : UP
}

/** The first thing in a text that looks like a version: `6.1.1` in `ffmpeg version n6.1.1-3 Copyright (c) 2000`. */
function versionIn(text: string): string | undefined {
  return /\d+(?:\.\d+)+/.exec(text)?.[0] ?? /\d+/.exec(text)?.[0]
}

function compare(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)]
  const length = Math.max(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersOf(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number)
}
