import { Refusal } from '../shared/refusal.ts'
import {
  asText,
  fill,
  lacksValue,
  onlyParameter,
  parseTemplate,
  type Template,
  type Values,
  valueOf,
} from '../shared/template.ts'
import { textsOf } from './places.ts'
import type { ProgramSettings } from './settings.ts'

export interface BuiltArgs {
  readonly args: readonly string[]
  /** Those with a value of the caller in them that may be a path. */
  readonly foreignArgs: readonly string[]
}

interface Built {
  readonly text: string
  readonly isForeign: boolean
}

/**
 * The arguments of a call. Whatever is in a value, it is one argument or a part of one, and no option: one that begins with
 * a value which begins with "-" is refused, unless the declaration has a "--" before it. Throws a `Refusal`.
 */
export function buildArgs({ args, notPaths }: ProgramSettings, values: Values): BuiltArgs {
  const built: Built[] = []
  let isBehindOptions = false
  for (const given of args) {
    const templates = textsOf(given).map(parseTemplate)
    if (!isWanted(given, templates, values)) continue
    for (const template of templates) {
      const made = argumentsOf(template, values, notPaths)
      if (!isBehindOptions) refuseOptions(template, made)
      built.push(...made)
      isBehindOptions ||= isEndOfOptions(template)
    }
  }
  for (const { text } of built)
    if (text.includes('\0')) throw new Refusal('A value has a zero byte in it, which no argument has.')
  return {
    args: built.map(({ text }) => text),
    foreignArgs: built.filter(({ isForeign }) => isForeign).map(({ text }) => text),
  }
}

function isWanted(given: ProgramSettings['args'][number], templates: readonly Template[], values: Values): boolean {
  if (typeof given === 'object' && 'when' in given && valueOf(values, given.when) !== true) return false
  return !templates.some(template => lacksValue(template, values))
}

function argumentsOf(template: Template, values: Values, notPaths: readonly string[]): Built[] {
  const names = template.parts.flatMap(part => (part.kind === 'parameter' ? [part.name] : []))
  const isForeign = names.some(name => !notPaths.includes(name) && mayBePath(valueOf(values, name)))
  const only = onlyParameter(template)
  const value = only?.isSpread ? valueOf(values, only.name) : undefined
  const texts = Array.isArray(value) ? value.map(asText) : [fill(template, { values })]
  return texts.map(text => ({ text, isForeign }))
}

function mayBePath(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'object'
}

function refuseOptions({ parts: [first] }: Template, made: readonly Built[]): void {
  if (first?.kind !== 'parameter' || !made.some(({ text }) => text.startsWith('-'))) return
  throw new Refusal(
    `"${first.name}" must not begin with "-": the program would take it for an option. Whoever wrote the tool can allow it with "--" before it, or by writing option and value as one argument: "--name={${first.name}}".`,
  )
}

function isEndOfOptions({ parts }: Template): boolean {
  const [first] = parts
  return parts.length === 1 && first?.kind === 'text' && first.text === '--'
}
