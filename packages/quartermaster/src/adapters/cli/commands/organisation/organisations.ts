import { Option } from 'commander'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { organisationOption } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
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
