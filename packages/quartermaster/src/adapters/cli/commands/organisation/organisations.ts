import { Option } from 'commander'
import { type WorkspaceFacts, WorkspaceStatus } from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { abilityOption, organisationOption, parentOption } from '../../options.ts'
import { fields, renderTable } from '../../output/layout.ts'
import { escapeLine } from '../../output/terminal.ts'
import { agoText } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerOrganisations = resourceCommands(
  ['organisations', 'Show and make organisations. Members of one cannot see another.', 'list | create [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List all organisations.',
      operation: 'organisations',
      examples: [['quartermaster organisations list', 'all of them']],
      answer: (found, session) => ({ text: listText('Organisation', found, session) }),
    }),
    controlCommand({
      name: 'create',
      description: 'Make an organisation, with a root of its own.',
      operation: 'createOrganisation',
      arguments: [['<NAME>', 'what it is called', 'name']],
      options: [new Option('--title <TEXT>', 'what people call it')],
      examples: [
        [
          'quartermaster organisations create acme --title "Acme Ltd."',
          'then: workspaces create NAME --organisation acme',
        ],
      ],
      label: 'Making',
      answer: ({ name }, session) => {
        const next = `Its workspaces: quartermaster workspaces list --organisation ${name}`
        return { text: doneLine(session, `The organisation "${name}" is made. ${next}`) }
      },
    }),
  ],
)

export const registerPersons = resourceCommands(
  [
    'persons',
    'Show who has an account, and remove persons. Their tokens are made with "tokens create --person".',
    'list | remove [options]',
  ],
  [
    controlCommand({
      name: 'list',
      description: 'List the persons of the organisation.',
      operation: 'persons',
      options: [organisationOption()],
      examples: [['quartermaster persons list', 'all of them']],
      answer: (found, session) =>
        found.length === 0
          ? { notice: 'No persons yet. Make a token for one: quartermaster tokens create --person NAME\n' }
          : { text: listText('Person', found, session) },
    }),
    controlCommand({
      name: 'remove',
      description: 'Remove a person, and revoke all their tokens, at once.',
      operation: 'removePerson',
      arguments: [['<NAME>', 'the person', 'name']],
      options: [organisationOption()],
      examples: [['quartermaster persons remove eve', 'what she allowed stays: grants revoke --by eve']],
      label: 'Removing',
      answer: ({ name }, session) => {
        const next = `What they allowed stays valid; take it back with: quartermaster grants revoke --by ${name}`
        return {
          text: doneLine(session, `"${name}" is removed, and so are all tokens of theirs.`),
          notice: `${escapeLine(next)}\n`,
        }
      },
    }),
  ],
)

function listText(
  title: string,
  all: readonly { name: string; title?: string | null | undefined; createdAt: number }[],
  { out, host }: Session,
): string {
  const now = host.clock.now()
  const rows = all.map(({ name, title, createdAt }) => [name, agoText(createdAt, now), title ?? ''])
  return renderTable([title, 'Since', { wraps: 'Title' }], rows, out)
}

const hints = () => ({ listing: ['workspaces', 'list'] })
const ONE = [['<WORKSPACE>', 'by its id or name', 'id']] as const

export const registerWorkspaces = resourceCommands(
  [
    'workspaces',
    'Show and make workspaces: one for each agent of the organisation, as a tree.',
    'list | show | create | archive | restore [options]',
  ],
  [
    controlCommand({
      name: 'list',
      description: 'List all workspaces as a tree, with their presence.',
      operation: 'workspaces',
      options: [new Option('--status <STATUS>', 'only those').choices(WorkspaceStatus.options), organisationOption()],
      examples: [['quartermaster workspaces list', 'all of them']],
      answer(found, { out }) {
        const rows = found.map(({ name, tier, status, presence, id, role }) => {
          return [`${'  '.repeat(tier)}${name}`, status === 'active' ? presence : status, id, role]
        })
        return { text: renderTable(['Workspace', 'Presence', 'Id', { wraps: 'Role' }], rows, out) }
      },
    }),
    controlCommand({
      name: 'show',
      description: 'Show everything about one workspace.',
      operation: 'workspace',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster workspaces show default', 'the one of the agent "default"']],
      hints,
      answer: (found, { host, out }) => ({ text: fields(factsOf(found, host.clock.now()), out) }),
    }),
    controlCommand({
      name: 'create',
      description: 'Make a workspace for an agent that runs elsewhere. Agents of this folder have one already.',
      operation: 'createWorkspace',
      arguments: [['<NAME>', 'what it is called', 'name']],
      options: [parentOption(), new Option('--role <TEXT>', 'what it is for'), abilityOption(), organisationOption()],
      input: ({ ability: abilities, ...given }) => ({ ...given, abilities }),
      examples: [
        ['quartermaster workspaces create researcher --parent default', 'below the agent "default"'],
        ['quartermaster workspaces create herald --ability broadcast', 'with a right beyond tools'],
      ],
      label: 'Making',
      answer: ({ name, id }, session) => ({ text: doneLine(session, `The workspace "${name}" is made: ${id}`) }),
    }),
    controlCommand({
      name: 'archive',
      description: 'Archive a workspace: it cannot be reached, and its tokens are refused.',
      operation: 'archiveWorkspace',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster workspaces archive researcher', 'its memories and messages are kept']],
      label: 'Archiving',
      hints,
      answer: ({ name }, session) => ({ text: doneLine(session, `The workspace "${name}" is archived.`) }),
    }),
    controlCommand({
      name: 'restore',
      description: 'Restore a workspace that was archived. Its tokens are valid again.',
      operation: 'restoreWorkspace',
      arguments: ONE,
      options: [organisationOption()],
      examples: [['quartermaster workspaces restore researcher', 'with its memories and messages']],
      label: 'Restoring',
      hints,
      answer: ({ name }, session) => ({ text: doneLine(session, `The workspace "${name}" is active again.`) }),
    }),
  ],
)

function factsOf(facts: WorkspaceFacts, now: number): (readonly [string, string | undefined])[] {
  const { registeredAt, lastSeenAt, capacity } = facts
  const ago = (at: number | null) => (at === null ? undefined : agoText(at, now))
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
