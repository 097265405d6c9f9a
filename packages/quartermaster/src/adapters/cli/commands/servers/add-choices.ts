import { Option } from 'commander'
import { type Control, UpstreamConsent, type UpstreamStatus } from '../../../../contracts/index.ts'
import { ask, canAsk } from '../../ask.ts'
import { UsageError } from '../../errors.ts'
import { agentOption, repeated } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { count } from '../../output/layout.ts'
import type { Session } from '../../session.ts'

export const DEFAULT_CONSENT: UpstreamConsent = 'destructive'

export const CONSENT_HELP =
  'which tools ask a person first: destructive (what the server calls so, and what it does not describe unless named like reading), changing (all but what only reads), all, none'

/** The tools that ask by each choice. */
export const CONSENT_CHOICES = {
  destructive: 'what the server calls destructive, and what it does not describe unless named like reading',
  changing: 'all but what the server says only reads',
  all: 'every tool',
  none: 'no tool',
} as const satisfies Record<UpstreamConsent, string>

/** The options about which tools of the added servers ask a person. */
export function consentOptions(yes = 'ask nothing'): Option[] {
  return [
    new Option('--consent <CHOICE>', CONSENT_HELP).choices(UpstreamConsent.options),
    new Option('--yes', `${yes}; consent is "destructive" where --consent does not say otherwise`),
  ]
}

interface Added {
  /** Written into its entry by default. */
  readonly consent?: UpstreamConsent | undefined
  readonly status?: UpstreamStatus | undefined
}

/** Asks a person once which tools of all added servers ask first, and writes it into their entries. */
export async function chooseConsent<T extends Added>(
  session: Session,
  control: Pick<Control, 'setUpstreamConsent'>,
  added: readonly T[],
  { consent: given, yes = false }: { readonly consent?: UpstreamConsent; readonly yes?: boolean },
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
  const sum = (amount: (status: UpstreamStatus) => number) => statuses.reduce((all, status) => all + amount(status), 0)
  const tools = sum(({ tools }) => tools.offered)
  const unknown = statuses.filter(({ asks }) => !asks).map(({ name }) => name)
  const choiceLine = (choice: UpstreamConsent) => {
    const asking = choice === 'none' ? 0 : sum(({ asks }) => asks?.[choice] ?? 0)
    const amount = tools === 0 ? '' : `${asking} of ${count(tools, 'tool')}: `
    return `  ${choice.padEnd(12)}${amount}${CONSENT_CHOICES[choice]}`
  }
  const lines = [
    `Which tools of ${statuses.map(({ name }) => name).join(', ')} ask a person before they run?`,
    ...UpstreamConsent.options.map(choiceLine),
    ...(unknown.length > 0 ? [`The tools of ${unknown.join(', ')} are not known yet, and not counted.`] : []),
  ]
  await session.notices.write(lines.map(line => `${escapeLine(line)}\n`).join(''))
  for (;;) {
    const answer = (await ask(session, `Choose [${DEFAULT_CONSENT}]: `)).trim().toLowerCase()
    const choice = UpstreamConsent.options.find(option => answer !== '' && option.startsWith(answer))
    if (choice !== undefined || answer === '') return choice ?? DEFAULT_CONSENT
  }
}

/** Which tools of an upstream ask a person, and how to change that. */
export function asksText(status: UpstreamStatus | undefined): string {
  if (!status?.asks) return ''
  const { name, tools, asks } = status
  const more = asks.now > asks.first.length ? ` and ${asks.now - asks.first.length} more` : ''
  const named = asks.now === 0 ? '' : `: ${asks.first.join(', ')}${more}`
  const verb = asks.now === 1 ? 'asks' : 'ask'
  return `${asks.now} of ${count(tools.offered, 'tool')} ${verb} a person first${named}. Change it: quartermaster upstreams consent ${name} CHOICE (${UpstreamConsent.options.join(', ')})`
}

/** The agents that get the added servers. */
export interface GrantChoice {
  grant: boolean
  agent?: string[]
}

export function grantOptions(): Option[] {
  return [
    agentOption('give it to this agent instead of "default"; repeat for more').argParser(repeated),
    new Option('--no-grant', 'give it to no agent'),
  ]
}

/** The choice, as the control takes it. */
export function toGrant({ grant, agent }: GrantChoice): { grant?: string[] | false } {
  if (!grant && agent) throw new UsageError('--agent and --no-grant contradict each other.')
  if (!grant) return { grant: false }
  return agent ? { grant: agent } : {}
}
