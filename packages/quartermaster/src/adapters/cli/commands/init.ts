import { resolve } from 'node:path'
import { CompletingArgument } from '../completion/kinds.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'
import { shellWord } from '../shell-word.ts'

export const registerInit: Register = (program, act) => {
  const command = program
    .command('init')
    .description(
      'Make a project: a configuration, a first agent, a first tool, and what an editor needs. Files that are there stay as they are.',
    )
    .addArgument(new CompletingArgument('[DIR]', 'its folder (default: this one)', 'dirs'))
    .action((dir: string | undefined) => act(session => init(session, dir)))
  addExamples(command, [
    ['quartermaster init', 'in this folder'],
    ['quartermaster init my-tools', 'in a new one'],
  ])
}

async function init(session: Session, dir = '.'): Promise<number> {
  const { host } = session
  const made = await session.attend('Making the project', () => host.init({ dir: resolve(host.cwd, dir) }))
  await (session.json ? session.printJson(made) : session.out.write(initText(made, session)))
  const next = [...(dir === '.' ? [] : [['cd', dir]]), made.install, ['npx', 'quartermaster', 'up']]
  if (!session.json)
    await session.notices.write(`Next: ${next.map(words => words.map(shellWord).join(' ')).join(' && ')}\n`)
  return EXIT.done
}

function initText(
  { created, kept }: { created: readonly string[]; kept: readonly string[] },
  { out }: Session,
): string {
  return [
    ...created.map(file => `${out.paint.green('created')}  ${escapeLine(file)}\n`),
    ...kept.map(file => `${out.paint.dim('kept')}     ${escapeLine(file)}\n`),
  ].join('')
}
