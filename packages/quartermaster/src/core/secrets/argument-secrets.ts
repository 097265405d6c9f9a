import {
  firstOperand,
  firstScript,
  packageRunIn,
  programIn,
  programLines,
  programName,
  REFERENCE,
  WITH_VALUE,
} from '../shell/index.ts'
import {
  FILLED_IN,
  FILLER,
  isKeyLike,
  isLogin,
  isPasswordLike,
  isPath,
  isSecretName,
  isWebhookName,
  looksLikeSecret,
  SECRET_FORMS,
} from './looks-like-secret.ts'
import { hideInScript, type Keep, type SecretStore, variableName } from './script-secrets.ts'

/** The scheme before a credential stays: it is no secret, and someone may want to read it. */
const SCHEME = /^((?:[\w-]+:\s*)?(?:bearer|basic|token)\s+)(\S+)$/i

export function hide(name: string, text: string, keep: Keep): string {
  if (!looksLikeSecret(name, text)) return text
  const [, scheme, credential] = SCHEME.exec(text) ?? []
  return scheme !== undefined && credential !== undefined ? `${scheme}${keep(credential)}` : keep(text)
}

/**
 * The options behind which something stands that may be a credential by its place and is none by its form: `-p hunter2` may as
 * well name a profile.
 */
export function doubtfulOptions(args: readonly string[]): string[] {
  const found = args.flatMap((word, i) => {
    const [, option = args[i - 1] ?? '', value = word] = /^(--?\w+)=(.+)$/s.exec(word) ?? []
    return isDoubtful(option, value) ? [option] : []
  })
  return [...new Set(found)]
}

function isDoubtful(option: string, value: string): boolean {
  if (MAY_BE_A_KEY.test(option) && isPasswordLike(value)) return true
  return SAYS_NOTHING.test(option.replace(/^--?/, '')) && option.startsWith('-') && isKeyLike(value)
}

/** What programs call a key, a password, a secret and a token in short, among other things. */
const MAY_BE_A_KEY = /^-[kpstKPST]$/

/** Options whose name says nothing, or means a name with most programs; behind `-y` stands the package that `npx` runs. */
const SAYS_NOTHING = /^(?:[A-Za-xz]|profile)$/

/** Below this length it may as well be the name of something: `-c n8n-k8s-prod1`. */
const SURELY_A_KEY = 16

/** The arguments of a command, and the script among them that a shell is given. */
export function hideArguments(command: unknown, args: readonly unknown[], store: SecretStore): unknown[] {
  const words = [command, ...args].map(word => (typeof word === 'string' ? word : ''))
  const script = firstScript(words)
  return args.map((word, i) => {
    if (typeof word !== 'string') return word
    if (i + 1 === script?.at) return hideInScript(script, store, hideArgument)
    return hideArgument(word, words.slice(0, i + 1), store)
  })
}

/** A whole line where only a program belongs. It starts nothing, so what a shell would read may go as well. */
export function hideInCommand(command: string, store: SecretStore): string {
  if (!/\s/.test(command)) return command
  return hideInScript({ text: command, shell: 'sh' }, { ...store, isToRun: false }, hideArgument)
}

/** `--api-key VALUE`, `--api-key=VALUE`, `-e KEY=VALUE`, `--header "Authorization: Bearer VALUE"`, addresses. */
function hideArgument(word: string, before: readonly string[], store: SecretStore): string {
  const ofContainer = containerVariable(word, before)
  if (ofContainer) return hideVariable(ofContainer, store)
  const [, option, flag = 'H', value = ''] = /^(--?([\w.-]+)=|-H)(.+)$/s.exec(word) ?? []
  if (option !== undefined) return `${option}${hideValue(flag, value, { store, isJoined: true })}`
  const flagBefore = flagOf(before)
  // Behind such a name all of it is one.
  const line = isSecretName(flagBefore) ? word : hideInside(word, store)
  if (word.startsWith('-') || line !== word) return line
  const [, name, given] = (isBeforeProgram(before.at(-1)) && /^(\w+)=(.+)$/s.exec(word)) || []
  if (name !== undefined && given !== undefined && mayBeWhole(given, store))
    if (looksLikeSecret(name, given)) return hideVariable({ prefix: '', name, given }, store)
  return hideValue(flagBefore, word, { store })
}

/** The option that a word stands behind. */
function flagOf(before: readonly string[]): string {
  const [, flag = ''] = /^--?([\w.-]+)$/.exec(before.at(-1) ?? '') ?? []
  // No user stands behind `python3 -u`, but the file that it runs.
  return flag === 'u' && before.some(word => INTERPRETER.test(programName(word))) ? '' : flag
}

const INTERPRETER = /^(?:(?:python|pypy)[\d.]*|(?:ba|da|k|z|a|fi)?sh|bun|deno|node|tsx)$/

/** Whether variables are set there for the program that follows. */
function isBeforeProgram(before: string | undefined): boolean {
  return before === undefined || /^\w+=/.test(before) || /(?:^|\/)env$/.test(before)
}

interface Variable {
  readonly prefix: string
  readonly name: string
  readonly given: string
}

/** `docker run -e KEY=VALUE`, as far as that is for docker and not for what it runs. */
function containerVariable(word: string, before: readonly string[]): Variable | undefined {
  const [, prefix = '', name, given] = /^(--env=|-e=?)?([A-Za-z_][\w.-]*)=(.+)$/s.exec(word) ?? []
  if (name === undefined || given === undefined) return undefined
  if (prefix === '' && !/^(?:-e|--env)$/.test(before.at(-1) ?? '')) return undefined
  const words = [...before.slice(programIn(before)), word]
  if (!/^(?:docker|podman|nerdctl)$/.test(programName(words[0] ?? ''))) return undefined
  const operand = (from: number) => firstOperand(words, from, WITH_VALUE.docker) ?? words.length
  const first = operand(1)
  const verb = /^(?:container|compose)$/.test(words[first] ?? '') ? operand(first + 1) : first
  const isOwn = /^(?:run|exec|create)$/.test(words[verb] ?? '') && operand(verb + 1) === words.length
  return isOwn ? { prefix, name, given } : undefined
}

function hideVariable({ prefix, name, given }: Variable, store: SecretStore): string {
  if (store.isToShow && isPath(given)) return `${prefix}${name}=${given}`
  return `${prefix}${name}=${hide(name, given, store.named(name))}`
}

const isHeaderOption = (name: string) => /^H$|header/i.test(name)

function hideInside(word: string, store: SecretStore): string {
  const first = word.search(OPTION_INSIDE)
  if (first < 0) return word
  const hideOption = (_all: string, start: string, name: string, given: string) =>
    `${start}${hideValue(name, given, { store, isInside: true })}`
  return `${hidePairs(word.slice(0, first), store)}${word.slice(first).replace(OPTION_INSIDE, hideOption)}`
}

/** An option and its value in one word, by mistake: programs take it for an option of that name, spaces and all. */
const OPTION_INSIDE = /((?:^|\s)--?([\w.-]+)(?:=|\s+))(?!-)(\S.*?)(?=\s+--?\w|$)/gs

interface ValuePlace {
  readonly store: SecretStore
  /** It stands in one word with its option: `--name=VALUE`. */
  readonly isJoined?: boolean
  /** It is a part of a longer text. */
  readonly isInside?: boolean
}

/** What stands behind a flag, or by itself where there is none. */
function hideValue(flag: string, text: string, place: ValuePlace): string {
  const { store, isInside = false } = place
  const isHeader = isHeaderOption(flag) && !isInside
  const [, name = '', sign = '', value = ''] = /^([\w.-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(text) ?? []
  if (
    looksLikeSecret(name, value) &&
    (isHeader || isCredential(value)) &&
    !mayRunAsPair(flag, { name, sign, value }, place)
  ) {
    if (!isNamed(name) && URL_FORM.test(value)) return `${name}${sign}${hideInUrl(value, store)}`
    return `${name}${sign}${hide(name, value, sign === '=' && !isHeader ? store.named(name) : store.own(name))}`
  }
  if (URL_FORM.test(text) && !isNamed(flag)) {
    const isWeb = /^https?:/i.test(text)
    const hidden = isWeb || looksLikeSecret('', text) ? hideInUrl(text, store) : text
    if (isWeb || hidden !== text) return hidden
  }
  if (isHeader || (isNamed(flag) && !isInside && mayBeWhole(text, store))) return hideWhole(flag, text, place)
  const hidden = isNamed(flag) && isCredential(text) ? text : hidePairs(text, store)
  if (hidden !== text) return hidden
  if (isCredential(text)) return hideWhole(flag, text, place)
  if (looksLikeSecret(flag, text)) store.left.add(name || variableName(flag || 'argument'))
  return text
}

function hideWhole(flag: string, text: string, place: ValuePlace): string {
  const { store } = place
  if (store.isToShow && mayRun(flag, text, place)) return text
  const isKey = SAYS_NOTHING.test(flag) && isKeyLike(text, store.isToRun ? SURELY_A_KEY : undefined)
  return isKey ? store.own(flag)(text) : hide(flag, text, store.own(flag === '' ? 'argument' : flag))
}

/** Whether a name says that all behind it is a credential. */
function isNamed(name: string): boolean {
  return isSecretName(name) || isWebhookName(name)
}

/** Whether a word may be a package, a file or a module that runs, whatever it looks like. */
function mayRun(flag: string, text: string, { isJoined = false }: ValuePlace): boolean {
  if (isNamed(flag)) return isPath(text)
  if (isHeaderOption(flag) || !isOneWord(text)) return false
  return isJoined ? LOADS_CODE.test(flag) : !isLogin(flag, text) || IS_PACKAGE.test(text)
}

/** `npm run auth:evil`, `deno run npm:evil`: no name of a value stands before the colon. */
function mayRunAsPair(flag: string, pair: { name: string; sign: string; value: string }, place: ValuePlace): boolean {
  const { name, sign, value } = pair
  if (!place.store.isToShow || !mayRun(flag, `${name}${sign}${value}`, place)) return false
  return sign === ':' || value.startsWith('=') || !(isNamed(name) || SECRET_FORMS.some(form => form.test(value)))
}

const IS_PACKAGE = /^(?:bitbucket|bun|data|file|gist|git|github|gitlab|jsr|node|npm):/i

/** Options whose value runs, or says where that is found. */
const LOADS_CODE =
  /^(?:(?:experimental-)?loader|c|e|entrypoint|eval|exec|extension|from|import|m|module|p|package|plugin|preload|r|require|script|spec|with|y)$/

/**
 * What has more in it may be code for the program: `node -e "password=1;…"`. A person who is asked about a command has to see all that
 * it runs, and there is no telling which option of which program takes code.
 */
function isOneWord(value: string): boolean {
  return value.split(FILLED_IN).every(piece => /^[^\s;()`|&<>{}[\]"'\\]*$/.test(piece))
}

/** One word, and the scheme that may stand before it. */
function isCredential(value: string): boolean {
  return isOneWord(value.replace(/^(?:bearer|basic|token)\s+/i, ''))
}

/** Where nothing runs or is shown, what looks like a secret only has to be known. */
function mayBeWhole(text: string, { isToRun, isToShow }: SecretStore): boolean {
  return isCredential(text) || !(isToRun || isToShow)
}

/** Logins in addresses, and the values of pairs such as `password=hunter2` whose name says that they are secret; nothing beside them. */
function hidePairs(text: string, store: SecretStore): string {
  let [hidden, end] = ['', 0]
  const take = (from: number, secret: string, keep: Keep) => {
    hidden += text.slice(end, from) + keep(secret)
    end = from + secret.length
  }
  for (const {
    0: { length },
    index,
    groups: { login, name, sign = '' } = {},
  } of text.matchAll(PAIR)) {
    const at = index + length
    if (index < end) continue
    if (login !== undefined) take(at - 1 - login.length, login, text => hideLogin(text, store.own('login')))
    const value = name === undefined || !isNameIn(text, name, sign) ? undefined : valueAt(text, at)
    if (name !== undefined && value !== undefined) take(at, value, store.own(name))
  }
  return hidden + text.slice(end)
}

/** Whether a name says in a text that what follows is a secret. */
function isNameIn(text: string, name: string, sign: string): boolean {
  if (sign.includes(':') && isOneWord(text)) return false
  // By itself the second is the working folder.
  return isSecretName(name) || (/^pwd$/i.test(name) && text.includes(';'))
}

function valueAt(text: string, from: number): string | undefined {
  VALUE.lastIndex = from
  const value = VALUE.exec(text)?.[0]
  if (value === undefined || isPath(value) || !looksLikeSecret('password', value)) return undefined
  return mayBeCalled(value, text.slice(from + value.length), text) ? undefined : value
}

const PAIR = new RegExp(
  [
    String.raw`:\/\/(?<login>[^\s/?#@:\\()${'`'}"'<>|{}[\]${FILLER}]*:(?!\d+(?:[/?#]|$))[^\s/?#\\()${'`'}"'<>|{}[\]${FILLER}]+)@`,
    REFERENCE,
    String.raw`(?<![\w.])(?<name>[A-Za-z_][\w.-]{0,127})(?<sign>["']?\s{0,8}[=:](?!\/\/)\s{0,8}["']?(?:(?:bearer|basic|token)\s+)?)`,
  ].join('|'),
  'gi',
)

/** A plain one, which ends at a blank, a quote, a bracket or the like. Before an opening bracket stands a function. */
const VALUE = new RegExp(
  String.raw`[^\s;()${'`'}|&<>{}[\]"'\\,=:~${FILLER}][^\s;()${'`'}|&<>{}[\]"'\\,${FILLER}]{0,4096}(?=[\s;&"')\]},>]|$)`,
  'y',
)

const FILLED_TEXT = new RegExp(FILLED_IN, 'gu')

/** A plain name in a text that may be code: a function, a module or a variable, and no key. */
function mayBeCalled(value: string, behind: string, text: string): boolean {
  if (!/^(?:[$@%]\w+|[A-Za-z_]+|[\w$]+(?:\.[A-Za-z_$][\w$]*)+)$/.test(value)) return false
  return /[()`|<>$]/.test(text.replace(FILLED_TEXT, '')) || /^\s+(?![\w.-]+\s*[=:])[^\s;,}\]]/.test(behind)
}

/** What is read as an address; nothing in it ends a text of a program. */
const URL_FORM = /^[a-z][a-z\d+.-]*:\/\/[^\s"'`\\]+$/i

export function hideInUrl(url: string, store: SecretStore): string {
  return url
    .replace(
      /^([a-z][a-z\d+.-]*:\/\/)((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^/?#\\\s()`"'<>|])+)@/i,
      (_all, scheme: string, login: string) => `${scheme}${hideLogin(login, store.own('login'))}@`,
    )
    .replace(/^(https?:\/\/[^/?#]+\/)([^?#]+)/i, (all: string, origin: string, path: string) =>
      isOpenToAll(all) && isPlain(path) ? `${origin}${store.own('path')(path)}` : `${origin}${hideInPath(path, store)}`,
    )
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (all: string, mark: string, key: string, value: string) =>
      looksLikeSecret(key, value) && isPlain(value) ? `${mark}${key}=${store.own(key)(value)}` : all,
    )
}

/** Nothing in it can be code, even where a program takes an address for that. */
function isPlain(piece: string): boolean {
  return !/[\s()`"'<>|\\]/.test(piece)
}

/** Where a part of it is filled in, who it is may be read. */
function hideLogin(login: string, keep: Keep): string {
  const [, user, password] =
    (FILLED_IN.test(login) && /^((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^:])*):(.+)$/s.exec(login)) || []
  return user === undefined || password === undefined ? keep(login) : `${hide('', user, keep)}:${keep(password)}`
}

/** Whether all of its path is one key. */
function isOpenToAll(address: string): boolean {
  return !FILLED_IN.test(address) && looksLikeSecret('', address)
}

function hideInPath(path: string, store: SecretStore): string {
  return path
    .split('/')
    .map(piece => (looksLikeSecret('', piece) && isPlain(piece) ? store.own('path')(piece) : piece))
    .join('/')
}

/** What to know about the arguments of an entry that may be secrets, and are none for certain. */
export function doubtfulArguments({ command, args }: Readonly<Record<string, unknown>>): string[] {
  const words = Array.isArray(args) ? args.map(String) : []
  const lines = typeof command === 'string' ? programLines(command, words) : []
  // What a runner such as npx or docker is told itself are ports and packages.
  const options = new Set(
    lines.flatMap(line => doubtfulOptions(line.words.slice(Math.max(1, ...(packageRunIn(line)?.packages ?? []))))),
  )
  if (options.size === 0) return []
  return [
    `What stands behind ${[...options].join(' and ')} among its arguments may be a secret, and is left there. If it is one, put it ` +
      'into secrets.json and write "${secret:NAME}" in its place.',
  ]
}
