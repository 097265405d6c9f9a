import { Option } from 'commander'
import { controlCommand, resourceCommands } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { agentOption, organisationOption, urlOption } from '../../options.ts'
import { count } from '../../output/layout.ts'
import { grantsText } from './approval-text.ts'

export const registerGrants = resourceCommands(
  ['grants', 'Show what you have allowed and denied agents for a time, and take it back.', 'list | revoke [options]'],
  [
    controlCommand({
      name: 'list',
      description: 'List the answers that are valid now, without what the files of agents allow permanently.',
      operation: 'grants',
      forPersons: true,
      options: [
        agentOption('only those of this agent'),
        new Option('--operation <NAME>', 'only those for this consent operation'),
        new Option('--by <NAME>', 'only those that this person gave, or "owner"'),
        organisationOption(),
        urlOption(),
      ],
      examples: [
        ['quartermaster grants list', 'all that are valid'],
        ['quartermaster grants list --agent default --operation files.write', 'what one agent may do unasked'],
      ],
      answer: (found, session) =>
        found.length === 0 ? { notice: 'There are none.\n' } : { text: grantsText(found, session) },
    }),
    controlCommand({
      name: 'revoke',
      description: 'Revoke answers, at once and also for calls that wait. Ends with 1 when there was none.',
      operation: 'revokeGrants',
      forPersons: true,
      arguments: [['[ID]', 'one of them, by its id', 'id']],
      options: [
        agentOption('all of this agent'),
        new Option('--operation <NAME>', 'all for this consent operation'),
        new Option('--by <NAME>', 'all that this person gave, or "owner"'),
        organisationOption(),
        urlOption(),
      ],
      examples: [
        ['quartermaster grants revoke grant_4tRe', 'one'],
        ['quartermaster grants revoke --agent default', 'all that one agent has'],
        ['quartermaster grants revoke --by eve', 'all that one person gave'],
      ],
      input(given) {
        const { id, organisation: _, ...filter } = given
        const isFiltered = Object.keys(filter).length > 0
        if (id === undefined && !isFiltered)
          throw new UsageError('name one by its id, or say --agent, --operation or --by.')
        if (id !== undefined && isFiltered)
          throw new UsageError('an id names one already; leave --agent, --operation and --by out.')
        return given
      },
      label: 'Revoking',
      answer: (revoked, { out }) =>
        revoked.count === 0
          ? { notice: 'There is no such valid grant.\n', code: EXIT.no }
          : { text: `${out.paint.green('✓')} ${count(revoked.count, 'grant')} taken back.\n` },
    }),
  ],
)
