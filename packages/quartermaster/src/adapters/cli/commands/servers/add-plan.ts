import { dirname } from 'node:path'
import { Option } from 'commander'
import {
  type AddedUpstream,
  type Control,
  DEFAULT_SETTINGS,
  type ForeignRemoval,
  UpstreamConsent,
  type UpstreamStatus,
} from '../../../../contracts/index.ts'
import { separateSecrets } from '../../../../core/secrets/index.ts'
import { ask, canAsk } from '../../ask.ts'
import { UsageError } from '../../errors.ts'
import { agentOption, repeated } from '../../options.ts'
import { count } from '../../output/layout.ts'
import { escapeLine, toVisibleJsonText, visibleWord } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'

/** What an upstream runs, and what is written for it, for a person to see before it happens. It holds no secret. */
export interface UpstreamPlan {
  readonly name: string
  /** The program with its arguments. */
  readonly command?: readonly string[]
  readonly url?: string
  /** The folder that the program runs in. */
  readonly folder?: string
  /** Names alone. A marked variable can make programs run other code than the command names. */
  readonly variables: readonly { readonly name: string; readonly canRunCode?: true }[]
  /** Names alone. */
  readonly headers: readonly string[]
  /** The file it is written to. */
  readonly file: string
  /** The file does not exist yet. */
  readonly madeFile?: true
  readonly secretsFile?: string
  /** Which of its tools ask a person first; absent where an existing entry does not set it. */
  readonly consent?: UpstreamConsent
  /** The command that changes the consent. */
  readonly changeConsent: string
  /** With more tools than this an agent sees the gateway view, unless its file says otherwise. */
  readonly gatewayViewOver: number
  /** How to take the same server out of the client it came from. */
  readonly removal?: ForeignRemoval
}

type Entry = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** The plan of an entry. `secrets` were moved from the given entry into the secrets file. */
export function planOf(
  given: Entry,
  added: Pick<AddedUpstream, 'name' | 'file' | 'madeFile' | 'secretsFile' | 'consent' | 'entry' | 'gatewayViewOver'>,
  { secrets, removal }: { readonly secrets: Texts; readonly removal?: ForeignRemoval | undefined },
): UpstreamPlan {
  // A replaced entry keeps some of its settings, so the entry as it is written may differ from the given one.
  const { entry = given, gatewayViewOver = DEFAULT_SETTINGS.gatewayViewOver } = added
  const target = targetOf(entry, renamedSecrets(entry, given, secrets))
  const isProgram = target.command !== undefined
  const { name, file, madeFile, secretsFile } = added
  const consent = UpstreamConsent.safeParse(entry['consent']).data ?? added.consent
  return {
    name,
    ...target,
    ...(isProgram && { folder: typeof entry['cwd'] === 'string' ? entry['cwd'] : dirname(file) }),
    variables: namesIn(entry['env']).map(name => ({ name, ...(RUNS_CODE.test(name) && { canRunCode: true }) })),
    headers: namesIn(entry['headers']),
    file,
    ...(madeFile && { madeFile }),
    ...(secretsFile !== undefined && { secretsFile }),
    ...(consent && { consent }),
    changeConsent: `quartermaster upstreams consent ${name} CHOICE`,
    gatewayViewOver,
    ...(removal && { removal }),
  }
}

/**
 * The command or address as it is shown: references stay, and what looks like a secret is masked. Text that may name what runs
 * is shown, also where it was moved to the secrets file.
 */
export function targetOf(entry: Entry, secrets: Texts = {}): Pick<UpstreamPlan, 'command' | 'url'> {
  const { command, args } = entry
  const open = {
    ...entry,
    command: filledIn(command, secrets),
    ...(Array.isArray(args) && { args: filledIn(args, secrets) }),
  }
  const { entry: separated, secrets: hidden } = separateSecrets('', open, { isToShow: true })
  const references = new Map(Object.entries(secrets).map(([name, text]) => [text, `\${secret:${name}}`]))
  const mask = (text: string) =>
    text.replace(REFERENCE, (whole, name: string) =>
      Object.hasOwn(hidden, name) ? (references.get(hidden[name] ?? '') ?? '[secret]') : whole,
    )
  if (typeof separated['url'] === 'string') return { url: mask(separated['url']) }
  if (typeof separated['command'] !== 'string') return {}
  const words = [separated['command'], ...(Array.isArray(separated['args']) ? separated['args'] : [])]
  return { command: words.map(word => mask(String(word))) }
}

const REFERENCE = /\$\{secret:([^}]*)\}/g

function filledIn(value: unknown, secrets: Texts): unknown {
  if (Array.isArray(value)) return value.map(item => filledIn(item, secrets))
  if (typeof value !== 'string') return value
  return value.replace(REFERENCE, (whole, name: string) =>
    Object.hasOwn(secrets, name) ? (secrets[name] ?? whole) : whole,
  )
}

/** The secrets by the names in the written entry, which differ from those in the given one where a name was taken. */
function renamedSecrets(written: Entry, given: Entry, secrets: Texts): Texts {
  const names = (entry: Entry) =>
    [entry['command'], entry['args']]
      .flat()
      .map(word => [...String(word).matchAll(REFERENCE)].map(([, name = '']) => name))
  const before = names(given)
  return Object.fromEntries(
    names(written).flatMap((now, at) =>
      now.flatMap((name, i) => {
        const text = now.length === before[at]?.length ? secrets[before[at][i] ?? ''] : undefined
        return text === undefined ? [] : [[name, text]]
      }),
    ),
  )
}

function namesIn(texts: unknown): string[] {
  return typeof texts === 'object' && texts !== null ? Object.keys(texts) : []
}

/**
 * Variables from which loaders, runtimes, shells and installers take code or programs, besides what the command names. Windows
 * accepts them in any case.
 */
const RUNS_CODE =
  /^(?:LD_(?:PRELOAD|AUDIT|LIBRARY_PATH)|DYLD_\w+|PATH|NODE_(?:OPTIONS|PATH)|BUN_OPTIONS|PYTHON(?:PATH|HOME|STARTUP|USERBASE)|PERL5(?:LIB|OPT|DB)|PERLLIB|RUBY(?:LIB|OPT)|(?:_|JDK_)?JAVA_(?:TOOL_)?OPTIONS|CLASSPATH|BASH_ENV|ZDOTDIR|PROMPT_COMMAND|GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|ASKPASS|CONFIG\w*)|DOTNET_STARTUP_HOOKS|NPM_CONFIG_\w+|(?:UV|PIP)_\w*(?:INDEX|CONFIG|FIND_LINKS)\w*)$/i

/** The program as a shell reads it, or the address, with invisible characters as escapes. */
export function targetLine({ command, url }: Pick<UpstreamPlan, 'command' | 'url'>): string {
  if (command) return command.map(visibleWord).join(' ')
  return url === undefined || /^[\x21-\x7e]*$/.test(url) ? (url ?? '') : visibleWord(url)
}

/** What it runs or connects to, and with what. */
export function targetLines(plan: UpstreamPlan): string[] {
  const { command, folder, variables, headers } = plan
  const marked = variables.map(({ name, canRunCode }) =>
    canRunCode ? `${visibleWord(name)} (! can make it run other code)` : visibleWord(name),
  )
  return [
    `${command ? 'Runs' : 'Connects to'}: ${targetLine(plan)}`,
    folder === undefined ? '' : `In the folder: ${visibleWord(folder)}`,
    variables.length > 0 ? `With the variables: ${marked.join(', ')}` : '',
    headers.length > 0 ? `With the headers: ${headers.map(visibleWord).join(', ')}` : '',
  ].filter(line => line !== '')
}

/** How to take it out of the client that it was imported from, which still has it. */
export function removalLine(removal: ForeignRemoval | undefined, client: string): string {
  if (!removal) return ''
  if ('file' in removal) {
    const keys = removal.keys.map(key => toVisibleJsonText(key, { pretty: false })).join(' > ')
    return `Still in ${client}. To remove it there: take ${keys} out of ${visibleWord(removal.file)}`
  }
  const command = removal.command.map(visibleWord).join(' ')
  const change = removal.folder === undefined ? '' : `cd ${visibleWord(removal.folder)} && `
  return `Still in ${client}. To remove it there: ${change}${command}`
}

/** What applies to all added servers: the file, the consent, and the gateway view. */
export function commonLines(plans: readonly UpstreamPlan[]): string[] {
  const [first] = plans
  if (!first) return []
  const secretsFile = plans.find(plan => plan.secretsFile !== undefined)?.secretsFile
  const made = plans.some(plan => plan.madeFile) ? ' (a new file: there is none in this folder or above)' : ''
  const secrets = secretsFile === undefined ? '' : `, secrets to ${visibleWord(secretsFile)}`
  const choices = UpstreamConsent.options.flatMap(choice => {
    const chosen = plans.filter(({ consent }) => consent === choice)
    return chosen.length > 0 ? [{ choice, names: chosen.map(({ name }) => name) }] : []
  })
  const change = plans.length === 1 ? first.changeConsent : 'quartermaster upstreams consent NAME CHOICE'
  return [
    `Would be written to ${visibleWord(first.file)}${made}${secrets}.`,
    ...choices.map(({ choice, names }) => {
      const which = choices.length > 1 ? ` of ${names.map(visibleWord).join(', ')}` : ''
      return `Tools${which} that ask a person first: ${CONSENT_CHOICES[choice]} (${choice}). Change it: ${change} (${UpstreamConsent.options.join(', ')})`
    }),
    `An agent that has more than ${first.gatewayViewOver} tools by then sees five in their place, which find and call all of them (gatewayViewOver).`,
  ]
}

interface Granted extends Pick<AddedUpstream, 'alsoHave' | 'madeAgent'> {
  readonly granted: readonly string[]
}

interface WhetherDone {
  /** Whether the lines say what would be done. */
  readonly isDryRun?: boolean
}

/** Which agents have the server. */
export function grantLine(
  name: string,
  { granted, alsoHave = [], madeAgent }: Granted,
  { isDryRun = false }: WhetherDone = {},
): string {
  const [when, verb] = isDryRun ? ['then', 'Would be given to'] : ['now', 'Given to']
  const made =
    madeAgent === undefined ? '' : ` (made ${when}, as the first agent here; it may also read the project folder)`
  const [other] = alsoHave
  const take = isDryRun ? '' : ` Take it away: quartermaster grant ${other} ${name} --revoke`
  const had = other === undefined ? [] : [`Still with: ${alsoHave.join(', ')}.${take}`]
  if (granted.length > 0) return [`${verb}${isDryRun ? '' : ':'} ${granted.join(', ')}${made}.`, ...had].join(' ')
  if (had.length > 0) return had.join(' ')
  return isDryRun ? `${verb} no agent.` : `${verb} no agent. Give it: quartermaster grant AGENT ${name}`
}

type Settings = Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>

/** What a replaced entry keeps and loses. */
export function keptLines(
  { keptSettings = [], goneSettings = [], keptVersions = {} }: Settings,
  { isDryRun = false }: WhetherDone = {},
): string[] {
  const [stays, gone, is] = isDryRun ? ['Would stay', 'Would go', 'would be'] : ['Stays', 'Gone', 'is']
  const line = (what: string, names: readonly string[]) => (names.length > 0 ? [`${what}: ${names.join(', ')}.`] : [])
  return [
    ...line(`${stays} in its entry`, keptSettings),
    ...line(`${gone} from its entry, because it ${is} reached in another way${isDryRun ? '' : ' now'}`, goneSettings),
    ...line(`${stays} in its version`, Object.values(keptVersions)),
  ]
}

/** The secrets of a removed or replaced entry: taken out of the secrets file, or still there. */
export function releasedLines(
  { removedSecrets = [], keptSecrets = [] }: Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'>,
  { isDryRun = false }: WhetherDone = {},
): string[] {
  const [gone, stays] = isDryRun ? ['Would be taken out of', 'Would stay in'] : ['Taken out of', 'Still in']
  const kept = keptSecrets.map(secret => `${stays} the secrets file: ${secret.name}${whyKept(secret)}.`)
  return removedSecrets.length > 0 ? [`${gone} the secrets file: ${removedSecrets.join(', ')}.`, ...kept] : kept
}

function whyKept({ name, usedBy, wasFor = [] }: NonNullable<AddedUpstream['keptSecrets']>[number]): string {
  if (usedBy.length > 0) return `, named in ${usedBy.join(', ')}`
  if (wasFor.length === 0) return ''
  return `, which was for ${wasFor.join(', ')}: refer to it again (\${secret:${name}}), or take it out of secrets.json`
}

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
