import type { RemovedUpstream } from '../../../contracts/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { escapeLine, toVisibleJsonText } from '../escape.ts'
import { problemBlock } from '../explain.ts'
import { count, paragraph } from '../layout.ts'
import type { Printer } from '../printer.ts'
import { addExamples, type Register } from '../register.ts'
import { releasedLines } from '../released-text.ts'
import type { Session } from '../session.ts'

export const registerRemove: Register = (program, act) => {
  const command = program
    .command('remove')
    .description('Remove an upstream from the configuration, and from the agents that have it.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .option('--keep-secrets', 'leave its secrets in the secrets file, also those that nothing else names')
    .action((name: string, options: RemoveOptions) => act(session => remove(session, name, options)))
  addExamples(command, [
    ['quartermaster remove github', 'it is stopped and forgotten, and so are secrets that only it had'],
    ['quartermaster remove github --keep-secrets', 'to add it again later'],
  ])
}

interface RemoveOptions {
  keepSecrets?: boolean
}

async function remove(session: Session, name: string, { keepSecrets }: RemoveOptions): Promise<number> {
  session.hints = { upstream: name }
  const removed = await session.connect(control =>
    session.attend(`Removing ${name}`, options =>
      control.removeUpstream({ name, ...defined({ keepSecrets }) }, options),
    ),
  )
  if (session.json) await session.printJson(removed)
  else await session.out.write(removedText(name, removed, session.out))
  return removed.stillNamedBy.length > 0 ? EXIT.no : EXIT.done
}

function removedText(name: string, removed: RemovedUpstream, out: Printer): string {
  const wide = { ...out, width: undefined }
  const { forgotten, file } = removed
  const what = forgotten ? `There was no entry of "${name}".` : `"${name}" is removed.`
  const lines = [...forgottenLines(forgotten), ...takenLines(name, removed), ...releasedLines(removed)]
  return [
    `${out.paint.green('✓')} ${escapeLine(`${what} (${file})`)}\n`,
    ...lines.map(line => paragraph(line, wide, '  ')),
    ...removed.problems.map(problem => problemBlock(problem, out)),
  ].join('')
}

function forgottenLines(forgotten: RemovedUpstream['forgotten']): string[] {
  if (!forgotten) return []
  const { pins, logins } = forgotten
  const parts = [pins > 0 ? count(pins, 'pin') : '', logins > 0 ? count(logins, 'login') : '']
  const named = parts.filter(part => part !== '').join(' and ')
  return [`Forgotten: ${named === '' ? 'that it was ever seen' : named}.`]
}

/** Of a list that somebody has written for an agent there is no other copy, so it is shown as it stood. */
function takenLines(name: string, { taken }: RemovedUpstream): string[] {
  const all = Object.entries(taken)
  const whole = all.flatMap(([agent, had]) => (Object.keys(had).length === 0 ? [agent] : []))
  const narrowed = all.filter(([agent]) => !whole.includes(agent))
  return [
    ...(whole.length > 0 ? [`Taken from: ${whole.join(', ')}.`] : []),
    ...narrowed.map(
      ([agent, had]) => `Taken from ${agent}, whose file had "${name}": ${toVisibleJsonText(had, { pretty: false })}`,
    ),
  ]
}
