import { Option } from 'commander'
import { addExamples, type Register } from '../../command.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { defined, organisationOption, urlOption, type Within, withinOf } from '../../options.ts'
import { count } from '../../output/layout.ts'
import type { Session } from '../../session.ts'
import { grantsText } from './approval-text.ts'

interface GrantFilter extends Within {
  agent?: string
  operation?: string
  by?: string
}

export const registerGrants: Register = (program, act) => {
  const grants = program
    .command('grants')
    .description('Show what you have allowed and denied agents for a time, and take it back.')
    .usage('list | revoke [options]')
  registerList(grants, act)
  registerRevoke(grants, act)
}

const registerList: Register = (grants, act) => {
  const list = grants
    .command('list')
    .description('List the answers that are valid now. What the files of agents allow permanently is not among them.')
    .addOption(agentOption('only those of this agent'))
    .addOption(new Option('--operation <NAME>', 'only those for this consent operation'))
    .addOption(new Option('--by <NAME>', 'only those that this person gave, or "owner"'))
    .addOption(organisationOption())
    .addOption(urlOption())
    .action((options: GrantFilter) => act(session => listGrants(session, options)))
  addExamples(list, [
    ['quartermaster grants list', 'all that are valid'],
    ['quartermaster grants list --agent default --operation files.write', 'what one agent may do unasked'],
  ])
}

const registerRevoke: Register = (grants, act) => {
  const revoke = grants
    .command('revoke')
    .description('Take answers back, at once and also for what waits. Ends with 1 when there was none.')
    .argument('[ID]', 'one of them, by its id')
    .addOption(agentOption('all of this agent'))
    .addOption(new Option('--operation <NAME>', 'all for this consent operation'))
    .addOption(new Option('--by <NAME>', 'all that this person gave, or "owner"'))
    .addOption(organisationOption())
    .addOption(urlOption())
    .action((id: string | undefined, options: GrantFilter) => act(session => revokeGrants(session, id, options)))
  addExamples(revoke, [
    ['quartermaster grants revoke grant_4tRe', 'one'],
    ['quartermaster grants revoke --agent default', 'all that one agent has'],
    ['quartermaster grants revoke --by eve', 'all that one person gave'],
  ])
}

function agentOption(description: string): CompletingOption {
  return new CompletingOption('--agent <NAME>', description, 'agent')
}

async function listGrants(session: Session, filter: GrantFilter): Promise<number> {
  const found = await session.connectAsPerson(control =>
    session.attend('Looking', options => control.grants(defined({ ...filter }), options)),
  )
  if (session.json) await session.printJson(found)
  else if (found.length === 0) await session.notices.write('There are none.\n')
  else await session.out.write(grantsText(found, session))
  return EXIT.done
}

async function revokeGrants(
  session: Session,
  id: string | undefined,
  { organisation, ...options }: GrantFilter,
): Promise<number> {
  const filter = defined({ id, ...options })
  const named = Object.keys(filter).length
  if (named === 0) throw new UsageError('name one by its id, or say --agent, --operation or --by.')
  if (id !== undefined && named > 1)
    throw new UsageError('an id names one already; leave --agent, --operation and --by out.')
  const revoked = await session.connectAsPerson(control =>
    session.attend('Revoking', on => control.revokeGrants({ ...filter, ...withinOf(defined({ organisation })) }, on)),
  )
  if (session.json) await session.printJson(revoked)
  else if (revoked.count === 0) await session.notices.write('There is no such valid grant.\n')
  else await session.out.write(`${session.out.paint.green('✓')} ${count(revoked.count, 'grant')} taken back.\n`)
  return revoked.count === 0 ? EXIT.no : EXIT.done
}
