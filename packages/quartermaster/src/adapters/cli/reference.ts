import type { Command } from 'commander'
import { createProgram } from './program.ts'

const WIDTH = 100

/** `docs/reference/cli.md`, made from the program itself. */
export function cliReference(): string {
  let help = ''
  const program = createProgram({
    version: '',
    act: async () => {},
    output: {
      writeOut: text => void (help += text),
      writeErr: () => {},
      width: WIDTH,
      color: false,
      title: text => text,
    },
  })
  const section = (command: Command, path: string) => {
    help = ''
    command.outputHelp()
    return `## ${path}\n\n\`\`\`text\n${help.trimEnd()}\n\`\`\`\n`
  }
  return [INTRODUCTION, ...commandsOf(program, '').map(({ command, path }) => section(command, path))].join('\n')
}

function commandsOf(command: Command, prefix: string): { command: Command; path: string }[] {
  const path = `${prefix}${command.name()}`
  const visible = command
    .createHelp()
    .visibleCommands(command)
    .filter(each => command.commands.includes(each))
  return [{ command, path }, ...visible.flatMap(each => commandsOf(each, `${path} `))]
}

const INTRODUCTION = `# The command line

Made from the program itself; \`quartermaster COMMAND --help\` prints the same. [Exit codes](exit-codes.md) have a page of their own.

- **Results** go to standard output and nothing else does. Notices, progress, questions and errors go to standard error.
- **\`--json\`** prints exactly one JSON value to standard output, on one line where that is no terminal. An error is that value too:
  \`{ "error": { "code", "kind", "retry", "message", "details" } }\`, and the exit code tells them apart. With \`up\` the value is the first line.
- **Colour** is used on terminals only, never with \`NO_COLOR\` or \`--no-color\`; \`FORCE_COLOR=1\` uses it everywhere.
- **Control characters** and others that cannot be seen are shown as escapes in names, descriptions, choices and messages. What a tool
  answers is printed as it is, except on a terminal, where they are escapes too. In JSON they are \`\\u\` escapes, and the value is the same.
- **Arguments of a call** written as \`key=value\` are read as JSON where they parse and the tool's schema does not want a text there;
  everything else is text. \`a.b=1\` puts a value inside \`a\`.
- **Cut results** are read to their end when standard output is no terminal or with \`--all\`. With \`--json\` the answer stays cut and its
  \`kept\` says where the rest is.
- **Consent** is asked for at the terminal when standard input and standard error both are one; the answer counts once, for exactly the
  arguments shown. Without a terminal the call waits for \`quartermaster approvals\`, a while, and then ends with 14.
- **Ctrl-C** ends the running command with 130; \`up\` it stops, with 0.
`
