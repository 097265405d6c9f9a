import type { ControlInput, PersonFacts } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { defined, organisationOption } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerPersons: Register = (program, act) => {
  const persons = program
    .command('persons')
    .description('Show who has an account, and remove persons. Their tokens are made with "tokens create --person".')
    .usage('list | remove [options]')
  registerList(persons, act)
  registerRemove(persons, act)
}

const registerList: Register = (persons, act) => {
  const list = persons
    .command('list')
    .description('List the persons of the organisation.')
    .addOption(organisationOption())
    .action((options: Within) => act(session => listPersons(session, defined({ ...options }))))
  addExamples(list, [['quartermaster persons list', 'all of them']])
}

const registerRemove: Register = (persons, act) => {
  const remove = persons
    .command('remove')
    .description('Remove a person, and take back all tokens they have, at once.')
    .argument('<NAME>', 'the person')
    .addOption(organisationOption())
    .action((name: string, options: Within) => act(session => removePerson(session, defined({ name, ...options }))))
  addExamples(remove, [['quartermaster persons remove eve', 'what she allowed stays: grants revoke --by eve']])
}

interface Within {
  organisation?: string
}

async function listPersons(session: Session, input: ControlInput<'persons'>): Promise<number> {
  const found = await session.connect(control => session.attend('Looking', on => control.persons(input, on)))
  if (session.json) await session.printJson(found)
  else if (found.length === 0)
    await session.notices.write('No persons yet. Make a token for one: quartermaster tokens create --person NAME\n')
  else await session.out.write(listText(found, session))
  return EXIT.done
}

function listText(persons: readonly PersonFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [{ title: 'Person' }, { title: 'Since' }, { title: 'Title', flexible: true }]
  const rows = persons.map(({ name, title, createdAt }) => ({
    cells: [name, `${inWords(Math.max(0, now - createdAt))} ago`, title ?? ''],
  }))
  return renderTable({ columns, rows }, out)
}

async function removePerson(session: Session, input: ControlInput<'removePerson'>): Promise<number> {
  const gone = await session.connect(control => session.attend('Removing', on => control.removePerson(input, on)))
  if (session.json) await session.printJson(gone)
  else {
    const text = `"${gone.name}" is removed, and so are all tokens of theirs.`
    await session.out.write(`${session.out.paint.green('✓')} ${escapeLine(text)}\n`)
    const next = `What they allowed stays valid; take it back with: quartermaster grants revoke --by ${gone.name}`
    await session.notices.write(`${escapeLine(next)}\n`)
  }
  return EXIT.done
}
