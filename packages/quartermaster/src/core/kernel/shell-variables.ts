import { firstScript } from './command-line.ts'

/**
 * The arguments of a command with every `${…}` that the shell of a script among them is to fill in written as `$${…}`, so that
 * it gets there. What stands in it is given to decide by; nothing where there is another one in it, as only shells have it.
 */
export function withShellVariables(
  command: string,
  args: readonly string[],
  isOfShell: (body: string | undefined) => boolean,
): string[] {
  const script = firstScript([command, ...args])
  return args.map((arg, i) =>
    i + 1 === script?.at
      ? arg.replace(BRACED, (whole: string, body: string | undefined) => (isOfShell(body) ? `$${whole}` : whole))
      : arg,
  )
}

/** One behind a second dollar sign is the shell's already. */
const BRACED = /(?<!\$)\$\{(?:((?:[^{}$]|\$(?!\{))*)\})?/g
