import { CompletingArgument } from '../completion/kinds.ts'
import { EXIT } from '../errors.ts'
import { escapeLine } from '../escape.ts'
import { paragraph } from '../layout.ts'
import { addExamples, type Register } from '../register.ts'
import type { Session } from '../session.ts'

export const registerRemove: Register = (program, act) => {
  const command = program
    .command('remove')
    .description('Remove an upstream from the configuration, and from the agents that have it.')
    .addArgument(new CompletingArgument('<NAME>', 'the upstream', 'upstream'))
    .action((name: string) => act(session => remove(session, name)))
  addExamples(command, [['quartermaster remove github', 'it is stopped and forgotten; secrets stay']])
}

async function remove(session: Session, name: string): Promise<number> {
  session.hints = { upstream: name }
  const removed = await session.connect(control =>
    session.attend(`Removing ${name}`, options => control.removeUpstream({ name }, options)),
  )
  if (session.json) await session.printJson(removed)
  else {
    const { out } = session
    const { file, revokedFrom, stillNamedBy } = removed
    await out.write(`${out.paint.green('✓')} ${escapeLine(`"${name}" is removed. (${file})`)}\n`)
    if (revokedFrom.length > 0) await out.write(paragraph(`Taken from: ${revokedFrom.join(', ')}.`, out, '  '))
    for (const agent of stillNamedBy) {
      const text = `"${agent}" still names it and has no tools until that is taken out: quartermaster grant ${agent} ${name} --revoke`
      await out.write(`${out.paint.yellow('!')} ${paragraph(text, { ...out, width: undefined })}`)
    }
  }
  return removed.stillNamedBy.length > 0 ? EXIT.no : EXIT.done
}
