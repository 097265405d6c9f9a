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
  /** The program with its arguments, or the address. */
  readonly command?: readonly string[]
  readonly url?: string
  /** The folder that the program runs in. */
  readonly folder?: string
  /** Their names alone. One that is marked can make programs run other code than the command names. */
  readonly variables: readonly { readonly name: string; readonly canRunCode?: true }[]
  /** Their names alone. */
  readonly headers: readonly string[]
  /** Where it is written to. */
  readonly file: string
  /** That file is made for it. */
  readonly madeFile?: true
  readonly secretsFile?: string
  /** Which of its tools ask a person first; absent where an entry that is there already says nothing of it. */
  readonly consent?: UpstreamConsent
  /** What changes that. */
  readonly changeConsent: string
  /** With more tools than this an agent sees the gateway view, unless its file says otherwise. */
  readonly gatewayViewOver: number
  /** How the same server is taken out of the client it came from. */
  readonly removal?: ForeignRemoval
}

type Entry = Readonly<Record<string, unknown>>

interface PlanOptions {
  /** What was taken out of the entry into the secrets file. */
  readonly secrets: Texts
  readonly removal?: ForeignRemoval | undefined
}

type Texts = Readonly<Record<string, string>>

/** By the entry as it is written: of one that it replaces some things stay. */
export function planOf(
  given: Entry,
  added: Pick<AddedUpstream, 'name' | 'file' | 'madeFile' | 'secretsFile' | 'consent' | 'entry' | 'gatewayViewOver'>,
  { secrets, removal }: PlanOptions,
): UpstreamPlan {
  const { entry = given, gatewayViewOver = DEFAULT_SETTINGS.gatewayViewOver } = added
  const target = targetOf(entry, textsNow(entry, given, secrets))
  const isProgram = target.command !== undefined
  const { name, file, madeFile, secretsFile } = added
  const consent = UpstreamConsent.safeParse(entry['consent']).data ?? added.consent
  return {
    name,
    ...target,
    ...(isProgram && { folder: typeof entry['cwd'] === 'string' ? entry['cwd'] : dirname(file) }),
    variables: namesIn(entry['env']).map(name => ({ name, ...(canRunCode(name) && { canRunCode: true }) })),
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

/** With references as they are, and without what looks like a secret, unless it may be what runs, also where that was taken out. */
export function targetOf(entry: Entry, taken: Texts = {}): Pick<UpstreamPlan, 'command' | 'url'> {
  const { command, args } = entry
  const open = {
    ...entry,
    command: filledIn(command, taken),
    ...(Array.isArray(args) && { args: filledIn(args, taken) }),
  }
  const { entry: separated, secrets } = separateSecrets('', open, { isToShow: true })
  const references = new Map(Object.entries(taken).map(([name, text]) => [text, `\${secret:${name}}`]))
  const mask = (text: string) =>
    text.replace(REFERENCE, (whole, name: string) =>
      Object.hasOwn(secrets, name) ? (references.get(secrets[name] ?? '') ?? '[secret]') : whole,
    )
  if (typeof separated['url'] === 'string') return { url: mask(separated['url']) }
  if (typeof separated['command'] !== 'string') return {}
  const words = [separated['command'], ...(Array.isArray(separated['args']) ? separated['args'] : [])]
  return { command: words.map(word => mask(String(word))) }
}

const REFERENCE = /\$\{secret:([^}]*)\}/g

function filledIn(value: unknown, taken: Texts): unknown {
  if (Array.isArray(value)) return value.map(item => filledIn(item, taken))
  if (typeof value !== 'string') return value
  return value.replace(REFERENCE, (whole, name: string) =>
    Object.hasOwn(taken, name) ? (taken[name] ?? whole) : whole,
  )
}

/** What was taken out, by the names under which it is written: another secret may have had the name that was thought of. */
function textsNow(written: Entry, given: Entry, secrets: Texts): Texts {
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

/** Windows takes the names of variables in any case. */
function canRunCode(variable: string): boolean {
  return RUNS_CODE.test(variable)
}

/** What loaders, runtimes, shells and installers take code or programs from, beside what the command names. */
const RUNS_CODE =
  /^(?:LD_(?:PRELOAD|AUDIT|LIBRARY_PATH)|DYLD_\w+|PATH|NODE_(?:OPTIONS|PATH)|BUN_OPTIONS|PYTHON(?:PATH|HOME|STARTUP|USERBASE)|PERL5(?:LIB|OPT|DB)|PERLLIB|RUBY(?:LIB|OPT)|(?:_|JDK_)?JAVA_(?:TOOL_)?OPTIONS|CLASSPATH|BASH_ENV|ZDOTDIR|PROMPT_COMMAND|GIT_(?:SSH|SSH_COMMAND|EXEC_PATH|ASKPASS|CONFIG\w*)|DOTNET_STARTUP_HOOKS|NPM_CONFIG_\w+|(?:UV|PIP)_\w*(?:INDEX|CONFIG|FIND_LINKS)\w*)$/i

/** The program as a shell reads it, or the address, with nothing in it that cannot be seen. */
export function targetLine({ command, url }: Pick<UpstreamPlan, 'command' | 'url'>): string {
  return command ? command.map(visibleWord).join(' ') : url === undefined ? '' : visibleUrl(url)
}

function visibleUrl(url: string): string {
  return /^[\x21-\x7e]*$/.test(url) ? url : visibleWord(url)
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

/** How it is taken out of its client, which has it still. */
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

/** What holds for all that are brought at once: where it is written, what asks a person, and what agents see of many tools. */
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
    ...choices.map(
      ({ choice, names }) =>
        `Tools${choices.length > 1 ? ` of ${names.map(visibleWord).join(', ')}` : ''} that ask a person first: ${CONSENT_CHOICES[choice]} (${choice}). Change it: ${change} (${UpstreamConsent.options.join(', ')})`,
    ),
    `An agent that has more than ${first.gatewayViewOver} tools by then sees five in their place, which find and call all of them (gatewayViewOver).`,
  ]
}

interface Given extends Pick<AddedUpstream, 'alsoHave' | 'madeAgent'> {
  readonly granted: readonly string[]
}

/** Who got what was added. */
export function givenLine(name: string, { granted, alsoHave = [], madeAgent }: Given): string {
  const [other] = alsoHave
  if (granted.length === 0 && other === undefined)
    return `Given to no agent. Give it: quartermaster grant AGENT ${name}`
  const made =
    madeAgent === undefined ? '' : ' (made now, as the first agent here; it may also read the project folder)'
  const given = granted.length === 0 ? [] : [`Given to: ${granted.join(', ')}${made}.`]
  const had = `Still with: ${alsoHave.join(', ')}. Take it away: quartermaster grant ${other} ${name} --revoke`
  return [...given, ...(other === undefined ? [] : [had])].join(' ')
}

/** Who would get what would be added. */
export function wouldGiveLine({ granted, alsoHave = [], madeAgent }: Given): string {
  const made =
    madeAgent === undefined ? '' : ' (made then, as the first agent here; it may also read the project folder)'
  const given = granted.length > 0 ? `${granted.join(', ')}${made}` : 'no agent'
  const had = alsoHave.length > 0 ? `Still with: ${alsoHave.join(', ')}.` : ''
  // An agent that has it already is given nothing.
  return granted.length === 0 && had !== '' ? had : `Would be given to ${given}. ${had}`.trimEnd()
}

const SETTINGS_DONE = {
  kept: 'Stays in its entry',
  version: 'Stays in its version',
  gone: 'Gone from its entry, because it is reached in another way now',
}
const SETTINGS_AHEAD = {
  kept: 'Would stay in its entry',
  version: 'Would stay in its version',
  gone: 'Would go from its entry, because it would be reached in another way',
}

/** What of an entry stays when its place is taken, and what does not, as lines; or what would, where nothing was done. */
export function keptLines(
  {
    keptSettings = [],
    goneSettings = [],
    keptVersions = {},
  }: Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): string[] {
  const words = isDryRun ? SETTINGS_AHEAD : SETTINGS_DONE
  const line = (what: string, names: readonly string[]) => (names.length > 0 ? [`${what}: ${names.join(', ')}.`] : [])
  return [
    ...line(words.kept, keptSettings),
    ...line(words.gone, goneSettings),
    ...line(words.version, Object.values(keptVersions)),
  ]
}

const SECRETS_DONE = { gone: 'Taken out of', kept: 'Still in' }
const SECRETS_AHEAD = { gone: 'Would be taken out of', kept: 'Would stay in' }

/** What became of the secrets of something that is gone, as lines; or what would, where nothing was done. */
export function releasedLines(
  { removedSecrets = [], keptSecrets = [] }: Pick<AddedUpstream, 'removedSecrets' | 'keptSecrets'>,
  { isDryRun = false }: { readonly isDryRun?: boolean } = {},
): string[] {
  const words = isDryRun ? SECRETS_AHEAD : SECRETS_DONE
  const kept = keptSecrets.map(secret => `${words.kept} the secrets file: ${secret.name}${reasonOf(secret)}.`)
  const gone = `${words.gone} the secrets file: ${removedSecrets.join(', ')}.`
  return removedSecrets.length > 0 ? [gone, ...kept] : kept
}

/** What nothing names any more is for its owner to use again or to take out. */
function reasonOf({ name, usedBy, wasFor = [] }: NonNullable<AddedUpstream['keptSecrets']>[number]): string {
  if (usedBy.length > 0) return `, named in ${usedBy.join(', ')}`
  if (wasFor.length === 0) return ''
  return `, which was for ${wasFor.join(', ')}: refer to it again (\${secret:${name}}), or take it out of secrets.json`
}
