import { firstScript } from './command-line.ts'
import { hideInScript } from './script-secrets.ts'
import type { Keep, Shelf } from './secret-shelf.ts'
import { FILLED_IN, isKeyLike, isPasswordLike, isSecretName, isSecretText, isWebhookName } from './secret-text.ts'

/** The scheme before a credential stays: it is no secret, and someone may want to read it. */
const SCHEME = /^((?:[\w-]+:\s*)?(?:bearer|basic|token)\s+)(\S+)$/i

export function hide(name: string, text: string, keep: Keep): string {
  if (!isSecretText(name, text)) return text
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
export function hideArguments(command: unknown, args: readonly unknown[], shelf: Shelf): unknown[] {
  const words = [command, ...args].map(word => (typeof word === 'string' ? word : ''))
  const script = firstScript(words)
  return args.map((word, i) => {
    if (typeof word !== 'string') return word
    return i + 1 === script?.at ? hideInScript(script, shelf, hideArgument) : hideArgument(word, words[i], shelf)
  })
}

/** A whole line where only a program belongs. It starts nothing, so what a shell would read may go as well. */
export function hideInCommand(command: string, shelf: Shelf): string {
  if (!/\s/.test(command)) return command
  return hideInScript({ text: command, shell: 'sh' }, { ...shelf, isToRun: false }, hideArgument)
}

/** `--api-key VALUE`, `--api-key=VALUE`, `-e KEY=VALUE`, `--header "Authorization: Bearer VALUE"`, addresses. */
function hideArgument(word: string, before: string | undefined, shelf: Shelf): string {
  const [, option, flag = 'H', value = ''] = /^(--?([\w.-]+)=|-H)(.+)$/s.exec(word) ?? []
  if (option !== undefined) return `${option}${hideValue(flag, value, shelf)}`
  const [, flagBefore = ''] = /^--?([\w.-]+)$/.exec(before ?? '') ?? []
  // Behind such a name all of it is one.
  const line = isSecretName(flagBefore) ? word : hideInside(word, shelf)
  if (word.startsWith('-') || line !== word) return line
  const [, variable, given] = (isBeforeProgram(before) && /^(\w+)=(.+)$/s.exec(word)) || []
  if (variable !== undefined && given !== undefined && isSecretText(variable, given))
    return `${variable}=${hide(variable, given, shelf.named(variable))}`
  return hideValue(flagBefore, word, shelf)
}

/** Whether variables are set there for the program that follows. */
function isBeforeProgram(before: string | undefined): boolean {
  return before === undefined || /^\w+=/.test(before) || /(?:^|\/)env$/.test(before)
}

const isHeaderOption = (name: string) => /^H$|header/i.test(name)

function hideInside(word: string, shelf: Shelf): string {
  return word.replace(OPTION_INSIDE, (all: string, start: string, name: string, given: string) =>
    isOneWord(given) || isHeaderOption(name) || !isSecretText(name, given)
      ? `${start}${hideValue(name, given, shelf)}`
      : leave(name, all, shelf),
  )
}

/** An option and its value in one word, by mistake: programs take it for an option of that name, spaces and all. */
const OPTION_INSIDE = /((?:^|\s)--?([\w.-]+)(?:=|\s+))(?!-)(\S.*?)(?=\s+--?\w|$)/gs

/** What stands behind a flag, or by itself where there is none. */
function hideValue(flag: string, text: string, shelf: Shelf): string {
  const [, name, sign, value] = /^([\w.-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(text) ?? []
  if (name !== undefined && value !== undefined && isSecretText(name, value)) {
    const isHeader = isHeaderOption(flag)
    if (!isHeader && !SCHEME.test(value) && !isOneWord(value)) return leave(name, text, shelf)
    const isVariable = sign === '=' && !isHeader
    return `${name}${sign}${hide(name, value, isVariable ? shelf.named(name) : shelf.own(name))}`
  }
  if (/^https?:\/\//i.test(text) && !isSecretName(flag) && !isWebhookName(flag)) return hideInUrl(text, shelf)
  const isKey = SAYS_NOTHING.test(flag) && isKeyLike(text, shelf.isToRun ? SURELY_A_KEY : undefined)
  return isKey ? shelf.own(flag)(text) : hide(flag, text, shelf.own(flag === '' ? 'argument' : flag))
}

/**
 * What has more in it may be code for the program: `node -e "password=1;…"`. Whoever is asked about a command has to see all that
 * it runs, and there is no telling which option of which program takes code.
 */
function isOneWord(value: string): boolean {
  return value.split(FILLED_IN).every(piece => /^[^\s;()`|&<>{}[\]"'\\]*$/.test(piece))
}

function leave(name: string, text: string, shelf: Shelf): string {
  shelf.left.add(name)
  return text
}

export function hideInUrl(url: string, shelf: Shelf): string {
  return url
    .replace(
      /^([a-z]+:\/\/)((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^/@\s])+)@/i,
      (_all, scheme: string, login: string) => `${scheme}${hideLogin(login, shelf.own('login'))}@`,
    )
    .replace(/^([a-z]+:\/\/[^/?#]+\/)([^?#]+)/i, (all: string, origin: string, path: string) =>
      isOpenToAll(all) ? `${origin}${shelf.own('path')(path)}` : `${origin}${hideInPath(path, shelf)}`,
    )
    .replace(/([?&])([^=&#]+)=([^&#]+)/g, (all: string, mark: string, key: string, value: string) =>
      isSecretText(key, value) ? `${mark}${key}=${shelf.own(key)(value)}` : all,
    )
}

/** Where a part of it is filled in, who it is may be read. */
function hideLogin(login: string, keep: Keep): string {
  const [, user, password] =
    (FILLED_IN.test(login) && /^((?:\$\{[^}]*\}|(?!\$\{[^}]*\})[^:])*):(.+)$/s.exec(login)) || []
  return user === undefined || password === undefined ? keep(login) : `${hide('', user, keep)}:${keep(password)}`
}

/** Whether all of its path is one key. */
function isOpenToAll(address: string): boolean {
  return !FILLED_IN.test(address) && isSecretText('', address)
}

function hideInPath(path: string, shelf: Shelf): string {
  return path
    .split('/')
    .map(piece => (isSecretText('', piece) ? shelf.own('path')(piece) : piece))
    .join('/')
}
