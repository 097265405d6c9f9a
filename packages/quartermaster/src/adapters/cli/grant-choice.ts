import { type Command, Option } from 'commander'
import { CompletingOption } from './completion/kinds.ts'
import { UsageError } from './errors.ts'
import { repeated } from './repeated.ts'

/** Who gets what is added. */
export interface GrantChoice {
  grant: boolean
  agent?: string[]
}

/** The options about who gets what is added. */
export function addGrantOptions(command: Command): Command {
  const agent = new CompletingOption(
    '--agent <NAME>',
    'give it to this agent instead of "default"; repeat for more',
    'agent',
  )
  return command.addOption(agent.argParser(repeated)).addOption(new Option('--no-grant', 'give it to nobody'))
}

/** As the control takes it. */
export function toGrant({ grant, agent }: GrantChoice): { grant?: string[] | false } {
  if (!grant && agent) throw new UsageError('--agent and --no-grant contradict each other.')
  if (!grant) return { grant: false }
  return agent ? { grant: agent } : {}
}
