import { Option } from 'commander'
import type { Ability, ControlInput, JoinCodeFacts } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { abilityOption, defined, durationOf, organisationOption, parentOption } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { aheadInWords, MONTH } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerJoinCodes: Register = (program, act) => {
  const codes = program
    .command('join-codes')
    .description('Make codes with which agents from elsewhere take a place, once each.')
    .usage('create | list | revoke [options]')
  registerCreate(codes, act)
  registerList(codes, act)
  registerRevoke(codes, act)
}

const registerCreate: Register = (codes, act) => {
  const create = codes
    .command('create')
    .description('Make a code. It is shown once.')
    .option('--name <NAME>', 'what the workspace will be called; without it the agent that joins chooses')
    .addOption(parentOption())
    .option('--role <TEXT>', 'what it is there for')
    .addOption(abilityOption())
    .addOption(
      new Option('--for <TIME>', 'how long it is good, such as 2h; a day without').argParser(durationOf(MONTH)),
    )
    .addOption(organisationOption())
    .action(({ ability, for: ttlMs, ...options }: CreateOptions) =>
      act(session => createCode(session, defined({ abilities: ability, ttlMs, ...options }))),
    )
  addExamples(create, [
    ['quartermaster join-codes create --name researcher --for 2h', 'for one agent that is called so'],
    ['quartermaster join-codes create --parent default --json', 'for programs: { "code": … }'],
  ])
}

const registerList: Register = (codes, act) => {
  const list = codes
    .command('list')
    .description('List all codes, newest first, without their texts.')
    .addOption(organisationOption())
    .action((options: Within) => act(session => listCodes(session, defined({ ...options }))))
  addExamples(list, [['quartermaster join-codes list', 'which are open, and who has joined']])
}

const registerRevoke: Register = (codes, act) => {
  const revoke = codes
    .command('revoke')
    .description('Revoke a code. An agent that has joined with it stays.')
    .argument('<ID>', 'the code, by its id')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => revokeCode(session, defined({ id, ...options }))))
  addExamples(revoke, [['quartermaster join-codes revoke join_5kQw', 'no agent joins with it any more']])
}

interface Within {
  organisation?: string
}

interface CreateOptions extends Within {
  name?: string
  parent?: string
  role?: string
  ability?: Ability[]
  for?: number
}

async function createCode(session: Session, input: ControlInput<'createJoinCode'>): Promise<number> {
  const { code, facts } = await session.connect(control =>
    session.attend('Making a code', on => control.createJoinCode(input, on)),
  )
  if (session.json) await session.printJson({ code, ...facts })
  else {
    await session.out.write(`${code}\n`)
    const text = `Join code ${facts.id}, good for ${aheadInWords(facts.expiresAt - session.host.clock.now())} and one workspace.`
    await session.notices.write(
      `${escapeLine(`${text} It is shown this once; take it back with: quartermaster join-codes revoke ${facts.id}`)}\n`,
    )
  }
  return EXIT.done
}

async function listCodes(session: Session, input: ControlInput<'joinCodes'>): Promise<number> {
  const found = await session.connect(control => session.attend('Looking', on => control.joinCodes(input, on)))
  if (session.json) await session.printJson(found)
  else if (found.length === 0)
    await session.notices.write('No join codes yet. Make one: quartermaster join-codes create\n')
  else await session.out.write(listText(found, session))
  return EXIT.done
}

function listText(codes: readonly JoinCodeFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'State' },
    { title: 'Name' },
    { title: 'Below' },
    { title: 'Role', flexible: true },
  ]
  const rows = codes.map(code => ({
    cells: [code.id, stateText(code, now), code.name ?? '', code.parent.name, code.role],
  }))
  return renderTable({ columns, rows }, out)
}

function stateText({ state, expiresAt, usedBy }: JoinCodeFacts, now: number): string {
  if (state === 'open') return `open for ${aheadInWords(expiresAt - now)}`
  return state === 'used' && usedBy !== null ? `used by ${usedBy}` : state
}

async function revokeCode(session: Session, input: ControlInput<'revokeJoinCode'>): Promise<number> {
  const facts = await session.connect(control => session.attend('Revoking', on => control.revokeJoinCode(input, on)))
  const { paint } = session.out
  if (session.json) await session.printJson(facts)
  else if (facts.state === 'revoked')
    await session.out.write(`${paint.green('✓')} ${escapeLine(`Join code ${facts.id} is taken back.`)}\n`)
  else await session.notices.write(`${escapeLine(`Join code ${facts.id} is ${facts.state} already.`)}\n`)
  return facts.state === 'revoked' ? EXIT.done : EXIT.no
}
