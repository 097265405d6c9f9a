import { InvalidArgumentError, Option } from 'commander'
import { Ability, DEFAULT_ORGANISATION } from '../../contracts/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { CompletingOption } from './completion/command-line.ts'
import type { CliHost, Elsewhere } from './host.ts'
import { parseDuration } from './output/units.ts'

export function organisationOption(): Option {
  return new Option('--organisation <NAME>', 'in this organisation instead of the first one')
}

export function agentOption(description: string): Option {
  return new CompletingOption('--agent <NAME>', description, 'agent')
}

/** `--organisation`, to repeat in a command that a person is told to run next. */
export function organisationFlag(organisation: string | undefined): string {
  return organisation === undefined || organisation === DEFAULT_ORGANISATION ? '' : ` --organisation ${organisation}`
}

/** A workspace by its name; with the organisation where that is not the first. */
export function fullName(organisation: string | undefined, name: string): string {
  return organisation === undefined || organisation === DEFAULT_ORGANISATION ? name : `${organisation}/${name}`
}

export function parentOption(): Option {
  return new Option('--parent <WORKSPACE>', 'the workspace it is below, by its id or name (default: the root)')
}

/** A right beyond tools; can be given several times. */
export function abilityOption(): Option {
  const names = Ability.options.join(', ')
  return new Option('--ability <NAME>', `a right beyond tools, once for each: ${names}`).argParser(addAbility)
}

function addAbility(text: string, before: readonly Ability[] | undefined): Ability[] {
  const parsed = Ability.safeParse(text)
  if (!parsed.success)
    throw new InvalidArgumentError(`There are ${Ability.options.join(', ')}.${didYouMean(text, Ability.options)}`)
  return [...new Set([...(before ?? []), parsed.data])]
}

/** `--limit`: how many entries of a list at most. */
export function limitOption(most = 1_000): Option {
  return new Option('--limit <NUMBER>', `at most this many, up to ${most}`).argParser(wholeNumber(1, most))
}

export function offsetOption(description: string): Option {
  return new Option('--offset <NUMBER>', description).argParser(text => {
    const offset = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(offset) && offset >= 0) return offset
    throw new InvalidArgumentError('Write a whole number.')
  })
}

export function cursorOption(): Option {
  return new Option('--cursor <CURSOR>', 'go on where the last page ended')
}

/** The notice below a page that is not the last. */
export function nextPage(cursor: string | null | undefined): string {
  return cursor === undefined || cursor === null ? '' : `More: the same with --cursor ${cursor}\n`
}

/** Parses the whole number of an option. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return text => {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    if (Number.isSafeInteger(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`)
  }
}

/** Parses the duration of an option as milliseconds. */
export function durationOf(limit?: Parameters<typeof parseDuration>[1]): (text: string) => number {
  return text => {
    const parsed = parseDuration(text, limit)
    if ('problem' in parsed) throw new InvalidArgumentError(parsed.problem)
    return parsed.ms
  }
}

/** Where persons ask who have no access to the data folder. */
export function urlOption(): Option {
  return new Option('--url <URL>', 'the "up" to ask, with a token of yours in QUARTERMASTER_TOKEN')
}

export function insecureOption(): Option {
  return new Option('--insecure', 'allow http:// to another machine, which shows the token to the network')
}

const ELSEWHERE = ['QUARTERMASTER_URL', 'QUARTERMASTER_WORKSPACES', 'QUARTERMASTER_WORKSPACES_FILE']

/** Whether workspaces on other machines are meant. */
export function namesElsewhere(env: CliHost['io']['env'], { url }: { url?: string | undefined }): boolean {
  return url !== undefined || ELSEWHERE.some(name => env[name] !== undefined)
}

/** The workspaces elsewhere that are meant, if any. */
export function elsewhereFrom(
  { host }: { host: CliHost },
  { url, insecure }: { url?: string | undefined; insecure?: boolean | undefined },
): Elsewhere | undefined {
  if (!namesElsewhere(host.io.env, { url })) return undefined
  return defined({ url, isInsecure: insecure })
}

/** For options that can be given more than once: all their values, in order. */
export function repeated(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value]
}

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** The same object without the properties that are undefined, so that "not given" looks the same in process and as JSON. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>
}
