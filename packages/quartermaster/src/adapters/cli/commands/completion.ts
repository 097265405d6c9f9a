import { Argument } from 'commander'
import { completionScript, SHELLS, type Shell } from '../completion/scripts.ts'
import { EXIT } from '../errors.ts'
import { addExamples, type Register } from '../register.ts'

export const registerCompletion: Register = (program, act) => {
  const command = program
    .command('completion')
    .description('Print the script that makes a shell complete commands, options and names.')
    .addArgument(new Argument('<SHELL>', 'the shell').choices(SHELLS))
    .action((shell: Shell) =>
      act(async session => {
        const script = completionScript(shell)
        await (session.json ? session.printJson({ shell, script }) : session.out.write(script))
        return EXIT.done
      }),
    )
  addExamples(command, [
    ['source <(quartermaster completion bash)', 'complete in this bash; put it in ~/.bashrc to keep it'],
    ['quartermaster completion fish > ~/.config/fish/completions/quartermaster.fish', 'complete in fish from now on'],
  ])
}
