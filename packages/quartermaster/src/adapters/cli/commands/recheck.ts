import type { RecheckAnswer } from '../../../contracts/index.ts'
import { CompletingArgument } from '../completion/kinds.ts'
import { defined } from '../defined.ts'
import { EXIT } from '../errors.ts'
import { isSwitchedOff, missingBlock } from '../explain.ts'
import { fields, paragraph } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

export const registerRecheck: Register = (program, act) => {
  const command = program
    .command('recheck')
    .description('Probe what a tool, dependency or capability is missing. Ends with 1 when something still is.')
    .addArgument(
      new CompletingArgument(
        '<NAME>',
        'its name; tool:NAME, dependency:NAME or capability:NAME where that is ambiguous',
        'anything',
      ),
    )
    .option('--force', 'probe even if that was done a moment ago')
    .action((name: string, { force }: { force?: boolean }) => act(session => recheck(session, name, force)))
  addExamples(command, [
    ['quartermaster recheck weather', 'after you fixed what the tool needs'],
    ['quartermaster recheck dependency:mail --force', 'without waiting for the next allowed probe'],
  ])
}

async function recheck(session: Session, name: string, force: boolean | undefined): Promise<number> {
  session.hints = { name }
  const answer = await session.connect(control =>
    session.attend(`Rechecking ${name}`, options => control.recheck(defined({ name, force }), options)),
  )
  await (session.json ? session.printJson(answer) : session.out.write(recheckText(name, answer, session)))
  return answer.active ? EXIT.done : EXIT.no
}

function recheckText(name: string, answer: RecheckAnswer, { out, host, from }: Session): string {
  const head = answer.active ? `${name} has everything it needs.` : `${name} is still missing something.`
  const mark = answer.active ? out.paint.green('✓') : out.paint.red('✗')
  return [
    `${mark} ${paragraph(head, { ...out, width: undefined })}`,
    ...answer.missing.map(missing => missingBlock(missing, { now: host.clock.now(), from }, out)),
    fields([['Probed', probedText(answer)]], out),
  ].join('')
}

function probedText({ probed, missing }: RecheckAnswer): string {
  if (probed.length > 0) return probed.join(', ')
  if (missing.length === 0) return 'nothing: all of it is up'
  return missing.every(isSwitchedOff)
    ? 'nothing: what is switched off is never looked at'
    : 'nothing: it was looked at a moment ago'
}
