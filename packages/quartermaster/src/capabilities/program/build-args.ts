import type { ForeignText } from '../../core/catalogue/index.ts'
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
import { foreignTexts } from './foreign-texts.ts'
import { textsOf } from './places.ts'
import type { ProgramSettings } from './settings.ts'

export interface BuiltArgs {
  readonly args: readonly string[]
  /** What in them the caller chose and may be a path. */
  readonly foreign: readonly ForeignText[]
}

/**
 * The arguments of a call. Whatever is in a value, it is one argument or a part of one, and no option: one that begins with
 * a value which begins with "-" is refused, unless the declaration has a "--" before it. Throws a `Refusal`.
 */
export function buildArgs(settings: ProgramSettings, values: Values): BuiltArgs {
  const built: string[] = []
  const foreign: ForeignText[] = []
  let isBehindOptions = false
  for (const given of settings.args) {
    const templates = textsOf(given).map(parseTemplate)
    if (!isWanted(given, templates, values)) continue
    for (const template of templates) {
      const made = argumentsOf(template, values)
      if (!isBehindOptions) refuseOptions(template, made)
      built.push(...made)
      foreign.push(...foreignTexts(template, values, settings))
      isBehindOptions ||= isEndOfOptions(template)
    }
  }
  if (built.some(text => text.includes('\0')))
    throw new Refusal('A value has a zero byte in it, which no argument has.')
  return { args: built, foreign }
}

function isWanted(given: ProgramSettings['args'][number], templates: readonly Template[], values: Values): boolean {
  if (typeof given === 'object' && 'when' in given && valueOf(values, given.when) !== true) return false
  return !templates.some(template => lacksValue(template, values))
}

function argumentsOf(template: Template, values: Values): string[] {
  const only = onlyParameter(template)
  const value = only?.isSpread ? valueOf(values, only.name) : undefined
  return Array.isArray(value) ? value.map(asText) : [fill(template, { values })]
}

function refuseOptions({ parts: [first] }: Template, made: readonly string[]): void {
  if (first?.kind !== 'parameter' || !made.some(text => text.startsWith('-'))) return
  throw new Refusal(
    `"${first.name}" must not begin with "-": the program would take it for an option. Whoever wrote the tool can allow it with "--" before it, or by writing option and value as one argument: "--name={${first.name}}".`,
  )
}

function isEndOfOptions({ parts }: Template): boolean {
  const [first] = parts
  return parts.length === 1 && first?.kind === 'text' && first.text === '--'
}
