import {
  firstOperand,
  packageRunIn,
  programIn,
  programLines,
  programName,
  scriptIndex,
  scriptLines,
  WITH_VALUE,
} from '../shell/index.ts'
import {
  FILLED_IN,
  isKeyLike,
  isLogin,
  isPasswordLike,
  isPath,
  isSecretName,
  isWebhookName,
  looksLikeSecret,
  REFERENCE,
  SECRET_FORMS,
} from './looks-like-secret.ts'
import { createSecretStore, type Keep, mapSecretPieces, type SecretStore, variableName } from './secret-store.ts'

/** A text as a reference if it looks like a credential. A scheme before it stays: it is no secret, and people want to read it. */
export function hide(name: string, text: string, keep: Keep): string {
  if (!looksLikeSecret(name, text)) return text
  const [, scheme, credential] = /^((?:[\w-]+:\s*)?(?:bearer|basic|token)\s+)(\S+)$/i.exec(text) ?? []
  return scheme !== undefined && credential !== undefined ? `${scheme}${keep(credential)}` : keep(text)
}

/** Notes about arguments that may be credentials by their place, and are none by their form: `-p hunter2` may name a profile. */
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

function doubtfulOptions(args: readonly string[]): string[] {
  return args.flatMap((word, i) => {
    const [, option = args[i - 1] ?? '', value = word] = /^(--?\w+)=(.+)$/s.exec(word) ?? []
    // Programs use these for a key, a password, a secret or a token, among other things.
    const isDoubtful = /^-[kpstKPST]$/.test(option)
      ? isPasswordLike(value)
      : option.startsWith('-') && SAYS_NOTHING.test(option.replace(/^--?/, '')) && isKeyLike(value)
    return isDoubtful ? [option] : []
  })
}

/** Options whose name says nothing, or means a name with most programs. `-y` is left out: `npx` runs the package behind it. */
const SAYS_NOTHING = /^(?:[A-Za-xz]|profile)$/

/** Below this length it may as well be the name of something: `-c n8n-k8s-prod1`. */
const SURELY_A_KEY = 16

/** The arguments of a command with references in place of their credentials. */
export function hideArguments(command: unknown, args: readonly unknown[], store: SecretStore): unknown[] {
  return hideWords([command, ...args], store).slice(1)
}

function hideWords(given: readonly unknown[], store: SecretStore): unknown[] {
  const words = given.map(word => (typeof word === 'string' ? word : ''))
  const script = scriptIndex(words)
  return given.map((word, i) => {
    if (typeof word !== 'string') return word
    return i === script ? hideInScript(word, store) : hideArgument(word, words.slice(0, i), store)
  })
}

/** A whole line in the place of a program. It starts nothing, so it is rewritten also where the entry is to run. */
export function hideInCommand(command: string, store: SecretStore): string {
  return /\s/.test(command) ? hideInScript(command, { ...store, isToRun: false }) : command
}

/**
 * A script that is to run stays as it is, because a shell might read what is filled in as code; that it may hold a secret is noted.
 * To be shown, it gets a reference for each secret, provided that no other part of the script is hidden by that.
 */
function hideInScript(script: string, store: SecretStore): string {
  const found = new Map<string, { reference: string; times: number }>()
  const probe = store.isToRun ? createSecretStore('') : store
  const recording =
    (name: string, keep: Keep): Keep =>
    text =>
      mapSecretPieces(name, text, piece => {
        const reference = keep(piece)
        found.set(piece, { reference, times: (found.get(piece)?.times ?? 0) + 1 })
        return reference
      })
  const recorder: SecretStore = {
    ...probe,
    named: name => recording(name, probe.named(name)),
    own: name => recording(variableName(name), probe.own(name)),
  }
  for (const line of scriptLines(script)) hideWords(line, recorder)
  if (store.isToRun) {
    for (const name of Object.keys(probe.secrets)) store.left.add(name)
    return script
  }
  let hidden = script
  for (const [secret, { reference, times }] of found) {
    const occurrences = hidden.split(secret).length - 1
    if (occurrences === times || (occurrences > 0 && !store.isToShow))
      hidden = hidden.replaceAll(secret, () => reference)
    // It is put together of pieces, such as hun"ter2".
    else if (!store.isToShow) return store.own('script')(script)
  }
  return hidden
}

/** `--api-key VALUE`, `--api-key=VALUE`, `-e KEY=VALUE`, `--header "Authorization: Bearer VALUE"`, addresses. */
function hideArgument(word: string, before: readonly string[], store: SecretStore): string {
  const ofContainer = containerVariable(word, before)
  if (ofContainer) return hideVariable(ofContainer, store)
  const [, option, flag = 'H', value = ''] = /^(--?([\w.-]+)=|-H)(.+)$/s.exec(word) ?? []
  if (option !== undefined) return `${option}${hideValue(flag, value, { store, isJoined: true })}`
  const flagBefore = flagOf(before)
  const line = isSecretName(flagBefore) ? word : hideInside(word, store)
  if (word.startsWith('-') || line !== word) return line
  const [, name, given] = (isBeforeProgram(before.at(-1)) && /^(\w+)=(.+)$/s.exec(word)) || []
  if (name !== undefined && given !== undefined && mayBeWhole(given, store))
    if (looksLikeSecret(name, given)) return hideVariable({ prefix: '', name, given }, store)
  return hideValue(flagBefore, word, { store })
}

/** The option before a word. */
function flagOf(before: readonly string[]): string {
  const [, flag = ''] = /^--?([\w.-]+)$/.exec(before.at(-1) ?? '') ?? []
  // Behind `python3 -u` stands the file that it runs, and no user.
  return flag === 'u' && before.some(word => INTERPRETER.test(programName(word))) ? '' : flag
}

const INTERPRETER = /^(?:(?:python|pypy)[\d.]*|(?:ba|da|k|z|a|fi)?sh|bun|deno|node|tsx)$/

/** Whether variables are set there for the program that follows. */
function isBeforeProgram(before: string | undefined): boolean {
  return before === undefined || /^\w+=/.test(before) || /(?:^|\/)(?:env|export)$/.test(before)
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

interface ValueOptions {
  readonly store: SecretStore
  /** It stands in one word with its option: `--name=VALUE`. */
  readonly isJoined?: boolean
  /** It is a part of a longer text. */
  readonly isInside?: boolean
}

/** The value of a flag, or a word alone where there is no flag. */
function hideValue(flag: string, text: string, options: ValueOptions): string {
  const { store, isInside = false } = options
  const isHeader = isHeaderOption(flag) && !isInside
  const [, name = '', sign = '', value = ''] = /^([\w.-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(text) ?? []
  if (
    looksLikeSecret(name, value) &&
    (isHeader || isCredential(value)) &&
    !mayRunAsPair(flag, { name, sign, value }, options)
  ) {
    if (!isNamed(name) && URL_FORM.test(value)) return `${name}${sign}${hideInUrl(value, store)}`
    return `${name}${sign}${hide(name, value, sign === '=' && !isHeader ? store.named(name) : store.own(name))}`
  }
  if (URL_FORM.test(text) && !isNamed(flag)) {
    const isWeb = /^https?:/i.test(text)
    const hidden = isWeb || looksLikeSecret('', text) ? hideInUrl(text, store) : text
    if (isWeb || hidden !== text) return hidden
  }
  if (isHeader || (isNamed(flag) && !isInside && mayBeWhole(text, store))) return hideWhole(flag, text, options)
  const hidden = isNamed(flag) && isCredential(text) ? text : hidePairs(text, store)
  if (hidden !== text) return hidden
  if (isCredential(text)) return hideWhole(flag, text, options)
  if (looksLikeSecret(flag, text)) store.left.add(name || variableName(flag || 'argument'))
  return text
}

function hideWhole(flag: string, text: string, options: ValueOptions): string {
  const { store } = options
  if (store.isToShow && mayRun(flag, text, options)) return text
  const isKey = SAYS_NOTHING.test(flag) && isKeyLike(text, store.isToRun ? SURELY_A_KEY : undefined)
  return isKey ? store.own(flag)(text) : hide(flag, text, store.own(flag === '' ? 'argument' : flag))
}

/** Whether a name says that its whole value is a credential. */
function isNamed(name: string): boolean {
  return isSecretName(name) || isWebhookName(name)
}

/** Whether a word may be a package, a file or a module that runs, whatever it looks like. */
function mayRun(flag: string, text: string, { isJoined = false }: ValueOptions): boolean {
  if (isNamed(flag)) return isPath(text)
  if (isHeaderOption(flag) || !isOneWord(text)) return false
  return isJoined ? LOADS_CODE.test(flag) : !isLogin(flag, text) || IS_PACKAGE.test(text)
}

/** `npm run auth:evil`, `deno run npm:evil`: no name of a value stands before the colon. */
function mayRunAsPair(
  flag: string,
  pair: { name: string; sign: string; value: string },
  options: ValueOptions,
): boolean {
  const { name, sign, value } = pair
  if (!options.store.isToShow || !mayRun(flag, `${name}${sign}${value}`, options)) return false
  return sign === ':' || value.startsWith('=') || !(isNamed(name) || SECRET_FORMS.some(form => form.test(value)))
}

const IS_PACKAGE = /^(?:bitbucket|bun|data|file|gist|git|github|gitlab|jsr|node|npm):/i

/** Options whose value runs, or says where code is found. */
const LOADS_CODE =
  /^(?:(?:experimental-)?loader|c|e|entrypoint|eval|exec|extension|from|import|m|module|p|package|plugin|preload|r|require|script|spec|with|y)$/

/**
 * Anything else may be code for the program: `node -e "password=1;…"`. A person who is asked about a command has to see all that
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

/** Hides logins in addresses and the values of pairs such as `password=hunter2`, and nothing beside them. */
function hidePairs(text: string, store: SecretStore): string {
  let [hidden, end] = ['', 0]
  const take = (from: number, secret: string, keep: Keep) => {
    hidden += text.slice(end, from) + keep(secret)
    end = from + secret.length
  }
  for (const match of text.matchAll(PAIR)) {
    const { login, name, sign = '' } = match.groups ?? {}
    const at = match.index + match[0].length
    if (match.index < end) continue
    if (login !== undefined) take(at - 1 - login.length, login, text => hideLogin(text, store.own('login')))
    const value = name === undefined || !isNameIn(text, name, sign) ? undefined : valueAt(text, at)
    if (name !== undefined && value !== undefined) take(at, value, store.own(name))
  }
  return hidden + text.slice(end)
}

/** Whether a name says in a text that what follows is a secret. */
function isNameIn(text: string, name: string, sign: string): boolean {
  if (sign.includes(':') && isOneWord(text)) return false
  // `PWD` alone is the working folder; in a connection string it is the password.
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
    String.raw`:\/\/(?<login>[^\s/?#@:\\()${'`'}"'<>|{}[\]]*:(?!\d+(?:[/?#]|$))[^\s/?#\\()${'`'}"'<>|{}[\]]+)@`,
    REFERENCE,
    String.raw`(?<![\w.])(?<name>[A-Za-z_][\w.-]{0,127})(?<sign>["']?\s{0,8}[=:](?!\/\/)\s{0,8}["']?(?:(?:bearer|basic|token)\s+)?)`,
  ].join('|'),
  'gi',
)

/** Ends at a blank, a quote, a bracket or the like. Before an opening bracket stands a function. */
const VALUE = /[^\s;()`|&<>{}[\]"'\\,=:~][^\s;()`|&<>{}[\]"'\\,]{0,4096}(?=[\s;&"')\]},>]|$)/y

/** A plain name in a text that may be code: a function, a module or a variable, and no key. */
function mayBeCalled(value: string, behind: string, text: string): boolean {
  if (!/^(?:[$@%]\w+|[A-Za-z_]+|[\w$]+(?:\.[A-Za-z_$][\w$]*)+)$/.test(value)) return false
  return (
    /[()`|<>$]/.test(text.replace(new RegExp(FILLED_IN, 'gu'), '')) || /^\s+(?![\w.-]+\s*[=:])[^\s;,}\]]/.test(behind)
  )
}

/** What is read as an address; nothing in it ends a text of a program. */
const URL_FORM = /^[a-z][a-z\d+.-]*:\/\/[^\s"'`\\]+$/i

/** An address without its login, and without what looks like a secret in its path and query. */
export function hideInUrl(url: string, store: SecretStore): string {
  return url
    .replace(
      /^([a-z][a-z\d+.-]*:\/\/)((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^/?#\\\s()`"'<>|])+)@/i,
      (_all, scheme: string, login: string) => `${scheme}${hideLogin(login, store.own('login'))}@`,
    )
    .replace(/^(https?:\/\/[^/?#]+\/)([^?#]+)/i, (all: string, origin: string, path: string) => {
      // All of the path is one key, as in addresses of webhooks.
      if (!FILLED_IN.test(all) && looksLikeSecret('', all) && isPlain(path))
        return `${origin}${store.own('path')(path)}`
      const hidePiece = (piece: string) =>
        looksLikeSecret('', piece) && isPlain(piece) ? store.own('path')(piece) : piece
      return `${origin}${path.split('/').map(hidePiece).join('/')}`
    })
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (all: string, mark: string, key: string, value: string) =>
      looksLikeSecret(key, value) && isPlain(value) ? `${mark}${key}=${store.own(key)(value)}` : all,
    )
}

/** Nothing in it can be code, even where a program takes an address for that. */
function isPlain(piece: string): boolean {
  return !/[\s()`"'<>|\\]/.test(piece)
}

/** Where a part of the login is filled in, the user may be read. */
function hideLogin(login: string, keep: Keep): string {
  const [, user, password] =
    (FILLED_IN.test(login) && /^((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^:])*):(.+)$/s.exec(login)) || []
  return user === undefined || password === undefined ? keep(login) : `${hide('', user, keep)}:${keep(password)}`
}
