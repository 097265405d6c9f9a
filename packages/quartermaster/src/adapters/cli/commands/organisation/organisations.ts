import type { ControlInput, OrganisationFacts } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { defined } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerOrganisations: Register = (program, act) => {
  const organisations = program
    .command('organisations')
    .description('Show and make organisations. Members of one cannot see another.')
    .usage('list | create [options]')
  registerList(organisations, act)
  registerCreate(organisations, act)
}

const registerList: Register = (organisations, act) => {
  const list = organisations
    .command('list')
    .description('List all organisations.')
    .action(() => act(listOrganisations))
  addExamples(list, [['quartermaster organisations list', 'all of them']])
}

const registerCreate: Register = (organisations, act) => {
  const create = organisations
    .command('create')
    .description('Make an organisation, with a root of its own.')
    .argument('<NAME>', 'what it is called')
    .option('--title <TEXT>', 'what people call it')
    .action((name: string, options: { title?: string }) =>
      act(session => createOrganisation(session, defined({ name, ...options }))),
    )
  addExamples(create, [
    ['quartermaster organisations create acme --title "Acme Ltd."', 'then: workspaces create NAME --organisation acme'],
  ])
}

async function listOrganisations(session: Session): Promise<number> {
  const found = await session.connect(control => session.attend('Looking', on => control.organisations({}, on)))
  if (session.json) await session.printJson(found)
  else await session.out.write(listText(found, session))
  return EXIT.done
}

function listText(organisations: readonly OrganisationFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [{ title: 'Organisation' }, { title: 'Since' }, { title: 'Title', flexible: true }]
  const rows = organisations.map(({ name, title, createdAt }) => ({
    cells: [name, `${inWords(Math.max(0, now - createdAt))} ago`, title ?? ''],
  }))
  return renderTable({ columns, rows }, out)
}

async function createOrganisation(session: Session, input: ControlInput<'createOrganisation'>): Promise<number> {
  const made = await session.connect(control => session.attend('Making', on => control.createOrganisation(input, on)))
  if (session.json) await session.printJson(made)
  else {
    const text = `The organisation "${made.name}" is made. Its workspaces: quartermaster workspaces list --organisation ${made.name}`
    await session.out.write(`${session.out.paint.green('✓')} ${escapeLine(text)}\n`)
  }
  return EXIT.done
}
