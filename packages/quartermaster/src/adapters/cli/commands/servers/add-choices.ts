import { type Command, Option } from 'commander'
import { type Control, UpstreamConsent, type UpstreamStatus } from '../../../../contracts/index.ts'
import { ask, canAsk } from '../../ask.ts'
import { CompletingOption } from '../../completion/command-line.ts'
import { UsageError } from '../../errors.ts'
import { repeated } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { count } from '../../output/layout.ts'
import type { Session } from '../../session.ts'

export const DEFAULT_CONSENT: UpstreamConsent = 'destructive'

export const CONSENT_HELP =
  'which tools ask a person first: destructive (what the server calls so, and what it does not describe unless named like reading), changing (all but what only reads), all, none'

/** What asks by each choice. */
export const CONSENT_CHOICES = {
  destructive: 'what the server calls destructive, and what it does not describe unless named like reading',
  changing: 'all but what the server says only reads',
  all: 'every tool',
  none: 'no tool',
} as const satisfies Record<UpstreamConsent, string>

interface ConsentOptions {
  readonly consent?: UpstreamConsent
  readonly yes?: boolean
}

/** The options about which tools of what is added ask a person. */
export function addConsentOptions(command: Command, yes = 'ask nothing'): Command {
  return command
    .addOption(new Option('--consent <CHOICE>', CONSENT_HELP).choices(UpstreamConsent.options))
    .option('--yes', `${yes}; consent is "destructive" where --consent does not say otherwise`)
}

interface Added {
  /** Written into its entry because nothing was said of it. */
  readonly consent?: UpstreamConsent | undefined
  readonly status?: UpstreamStatus | undefined
}

/** Asks a person once which tools of all servers that were added ask first, and writes it into their entries. */
export async function chooseConsent<T extends Added>(
  session: Session,
  control: Pick<Control, 'setUpstreamConsent'>,
  added: readonly T[],
  { consent: given, yes = false }: ConsentOptions,
): Promise<T[]> {
  const open = added.flatMap(one => (one.consent && one.status ? [one.status] : []))
  const isAsked = given === undefined && !yes && !session.json && canAsk(session)
  if (open.length === 0 || !isAsked || session.host.signal.aborted) return [...added]
  const consent = await askChoice(session, open)
  if (consent === DEFAULT_CONSENT) return [...added]
  const names = open.map(({ name }) => name)
  const changed = await session.attend('Writing', on => control.setUpstreamConsent({ names, consent }, on))
  return added.map(one => {
    if (!one.consent || !one.status) return one
    return { ...one, consent, status: changed.find(({ name }) => name === one.status?.name) ?? one.status }
  })
}

async function askChoice(session: Session, statuses: readonly UpstreamStatus[]): Promise<UpstreamConsent> {
  const tools = sum(statuses, ({ tools }) => tools.offered)
  const unseen = statuses.filter(({ asks }) => !asks).map(({ name }) => name)
  const line = (choice: UpstreamConsent) => {
    const stopped = choice === 'none' ? 0 : sum(statuses, ({ asks }) => asks?.[choice] ?? 0)
    return `  ${choice.padEnd(12)}${tools === 0 ? '' : `${stopped} of ${count(tools, 'tool')}: `}${CONSENT_CHOICES[choice]}\n`
  }
  const lines = [
    `Which tools of ${statuses.map(({ name }) => name).join(', ')} ask a person before they run?\n`,
    ...UpstreamConsent.options.map(line),
    unseen.length > 0 ? `The tools of ${unseen.join(', ')} are not known yet, and not counted.\n` : '',
  ]
  await session.notices.write(lines.map(text => text && `${escapeLine(text.trimEnd())}\n`).join(''))
  for (;;) {
    const answer = (await ask(session, `Choose [${DEFAULT_CONSENT}]: `)).trim().toLowerCase()
    const choice = UpstreamConsent.options.find(option => answer !== '' && option.startsWith(answer))
    if (choice !== undefined || answer === '') return choice ?? DEFAULT_CONSENT
  }
}

function sum(statuses: readonly UpstreamStatus[], amount: (status: UpstreamStatus) => number): number {
  return statuses.reduce((all, status) => all + amount(status), 0)
}

/** Which tools of it ask a person, and how that is changed. */
export function asksText(status: UpstreamStatus | undefined): string {
  if (!status?.asks) return ''
  const { name, tools, asks } = status
  const more = asks.now > asks.first.length ? ` and ${asks.now - asks.first.length} more` : ''
  const named = asks.now === 0 ? '' : `: ${asks.first.join(', ')}${more}`
  const ask = asks.now === 1 ? 'asks' : 'ask'
  return `${asks.now} of ${count(tools.offered, 'tool')} ${ask} a person first${named}. Change it: quartermaster upstreams consent ${name} CHOICE (${UpstreamConsent.options.join(', ')})`
}

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
  return command.addOption(agent.argParser(repeated)).addOption(new Option('--no-grant', 'give it to no agent'))
}

/** As the control takes it. */
export function toGrant({ grant, agent }: GrantChoice): { grant?: string[] | false } {
  if (!grant && agent) throw new UsageError('--agent and --no-grant contradict each other.')
  if (!grant) return { grant: false }
  return agent ? { grant: agent } : {}
}
