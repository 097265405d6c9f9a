import { Option } from 'commander'
import { type Ability, type ControlInput, type WorkspaceFacts, WorkspaceStatus } from '../../../../contracts/index.ts'
import { addExamples, type Register } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { abilityOption, defined, organisationOption, parentOption } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { inWords } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerWorkspaces: Register = (program, act) => {
  const workspaces = program
    .command('workspaces')
    .description('Show and make workspaces: the places of agents in the organisation, as a tree.')
    .usage('list | show | create | archive | restore [options]')
  registerList(workspaces, act)
  registerShow(workspaces, act)
  registerCreate(workspaces, act)
  registerArchive(workspaces, act)
  registerRestore(workspaces, act)
}

const registerList: Register = (workspaces, act) => {
  const list = workspaces
    .command('list')
    .description('List all workspaces as a tree, with who is there.')
    .addOption(new Option('--status <STATUS>', 'only those').choices(WorkspaceStatus.options))
    .addOption(organisationOption())
    .action((filter: ControlInput<'workspaces'>) => act(session => listWorkspaces(session, filter)))
  addExamples(list, [['quartermaster workspaces list', 'all of them']])
}

const registerShow: Register = (workspaces, act) => {
  const show = workspaces
    .command('show')
    .description('Show everything about one workspace.')
    .argument('<WORKSPACE>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => showWorkspace(session, defined({ id, ...options }))))
  addExamples(show, [['quartermaster workspaces show default', 'the one of the agent "default"']])
}

const registerCreate: Register = (workspaces, act) => {
  const create = workspaces
    .command('create')
    .description('Make a workspace for an agent that runs elsewhere. Those of this folder have theirs already.')
    .argument('<NAME>', 'what it is called')
    .addOption(parentOption())
    .option('--role <TEXT>', 'what it is there for')
    .addOption(abilityOption())
    .addOption(organisationOption())
    .action((name: string, { ability, ...options }: CreateOptions) =>
      act(session => createWorkspace(session, defined({ name, abilities: ability, ...options }))),
    )
  addExamples(create, [
    ['quartermaster workspaces create researcher --parent default', 'below the agent "default"'],
    ['quartermaster workspaces create herald --ability broadcast', 'with a right beyond tools'],
  ])
}

const registerArchive: Register = (workspaces, act) => {
  const archive = workspaces
    .command('archive')
    .description('Archive a workspace: it cannot be reached, and its tokens are refused.')
    .argument('<WORKSPACE>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => archiveWorkspace(session, defined({ id, ...options }))))
  addExamples(archive, [['quartermaster workspaces archive researcher', 'it and what is its own stay on record']])
}

const registerRestore: Register = (workspaces, act) => {
  const restore = workspaces
    .command('restore')
    .description('Restore a workspace that was archived. Its tokens are valid again.')
    .argument('<WORKSPACE>', 'by its id or name')
    .addOption(organisationOption())
    .action((id: string, options: Within) => act(session => restoreWorkspace(session, defined({ id, ...options }))))
  addExamples(restore, [['quartermaster workspaces restore researcher', 'with all that was its own']])
}

interface Within {
  organisation?: string
}

interface CreateOptions extends Within {
  parent?: string
  role?: string
  ability?: Ability[]
}

async function listWorkspaces(session: Session, filter: ControlInput<'workspaces'>): Promise<number> {
  const found = await session.connect(control =>
    session.attend('Looking', options => control.workspaces(defined({ ...filter }), options)),
  )
  if (session.json) await session.printJson(found)
  else await session.out.write(listText(found, session))
  return EXIT.done
}

function listText(workspaces: readonly WorkspaceFacts[], { out }: Session): string {
  const columns = [{ title: 'Workspace' }, { title: 'Presence' }, { title: 'Id' }, { title: 'Role', flexible: true }]
  const rows = workspaces.map(({ name, tier, status, presence, id, role }) => ({
    cells: [`${'  '.repeat(tier)}${name}`, status === 'active' ? presence : status, id, role],
  }))
  return renderTable({ columns, rows }, out)
}

async function showWorkspace(session: Session, input: ControlInput<'workspace'>): Promise<number> {
  session.hints = { listing: ['workspaces', 'list'] }
  const found = await session.connect(control => session.attend('Looking', on => control.workspace(input, on)))
  if (session.json) await session.printJson(found)
  else await session.out.write(fields(factsText(found, session.host.clock.now()), session.out))
  return EXIT.done
}

function factsText(facts: WorkspaceFacts, now: number): (readonly [string, string | undefined])[] {
  const { registeredAt, lastSeenAt, capacity } = facts
  const ago = (at: number | null) => (at === null ? undefined : `${inWords(Math.max(0, now - at))} ago`)
  return [
    ['Workspace', facts.name],
    ['Id', facts.id],
    ['Organisation', facts.organisation],
    ['Role', facts.role],
    ['Description', facts.description ?? undefined],
    ['Below', facts.parent?.name],
    ['Tier', String(facts.tier)],
    ['Abilities', facts.abilities.join(', ')],
    ['Status', facts.status],
    ['Comes from', ORIGINS[facts.origin]],
    ['Presence', facts.presence],
    ['Delivery', facts.delivery],
    ['Capacity', capacity === null ? undefined : String(capacity)],
    ['Registered', ago(registeredAt)],
    ['Last seen', ago(lastSeenAt)],
  ]
}

const ORIGINS = {
  root: 'the first start',
  folder: 'an agent of this folder',
  made: 'the owner',
  joined: 'a join code',
  external: 'an A2A agent elsewhere',
} as const satisfies Record<WorkspaceFacts['origin'], string>

async function createWorkspace(session: Session, input: ControlInput<'createWorkspace'>): Promise<number> {
  const made = await session.connect(control => session.attend('Making', on => control.createWorkspace(input, on)))
  if (session.json) await session.printJson(made)
  else await say(session, `The workspace "${made.name}" is made: ${made.id}`)
  return EXIT.done
}

async function archiveWorkspace(session: Session, input: ControlInput<'archiveWorkspace'>): Promise<number> {
  session.hints = { listing: ['workspaces', 'list'] }
  const gone = await session.connect(control => session.attend('Archiving', on => control.archiveWorkspace(input, on)))
  if (session.json) await session.printJson(gone)
  else await say(session, `The workspace "${gone.name}" is archived.`)
  return EXIT.done
}

async function restoreWorkspace(session: Session, input: ControlInput<'restoreWorkspace'>): Promise<number> {
  session.hints = { listing: ['workspaces', 'list'] }
  const back = await session.connect(control => session.attend('Restoring', on => control.restoreWorkspace(input, on)))
  if (session.json) await session.printJson(back)
  else await say(session, `The workspace "${back.name}" is active again.`)
  return EXIT.done
}

async function say({ out }: Session, text: string): Promise<void> {
  await out.write(`${out.paint.green('✓')} ${escapeLine(text)}\n`)
}
