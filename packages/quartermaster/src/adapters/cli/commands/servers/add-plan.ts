import { dirname } from 'node:path'
import {
  type AddedUpstream,
  DEFAULT_SETTINGS,
  type ForeignRemoval,
  UpstreamConsent,
} from '../../../../contracts/index.ts'
import { separateSecrets } from '../../../../core/secrets/index.ts'
import { toVisibleJsonText, visibleWord } from '../../output/escape.ts'
import { CONSENT_CHOICES } from './add-choices.ts'

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
