import type { Command } from 'commander'
import type { Session } from './session.ts'

/** Runs a command in a session and keeps its exit code. */
export type Act = (run: (session: Session) => Promise<number>) => Promise<void>

/** Puts one command into the program. */
export type Register = (program: Command, act: Act) => void

/** Lines to copy, under the help of a command. */
export function addExamples(command: Command, examples: readonly (readonly [line: string, what: string])[]): void {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}
