import type { ForeignText } from '../../core/catalogue/index.ts'
import {
  asText,
  fill,
  lacksValue,
  onlyParameter,
  parseTemplate,
  type Template,
  type TemplatePart,
  type Values,
  valueOf,
} from '../shared/template.ts'
import { Refusal } from '../shared/walls/refusal.ts'
import { textsOf } from './places.ts'
import type { ProgramSettings } from './settings.ts'

interface BuiltArgs {
  readonly args: readonly string[]
  /** The parts that the caller chose and that may be paths. */
  readonly foreign: readonly ForeignText[]
}

/**
 * The arguments of a call. A value is one argument or a part of one, and never an option: an argument that begins with a value that
 * begins with "-" is refused, unless the declaration has a "--" before it. Throws a `Refusal`.
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
    `"${first.name}" must not begin with "-": the program would take it for an option. The author of the tool can allow it with "--" before it, or by writing option and value as one argument: "--name={${first.name}}".`,
  )
}

function isEndOfOptions({ parts }: Template): boolean {
  const [first] = parts
  return parts.length === 1 && first?.kind === 'text' && first.text === '--'
}

type NotPaths = Pick<ProgramSettings, 'notPaths'>

/**
 * The texts of an argument that a caller chose and that may be paths: the whole, the rest from each value on, and the values.
 * Programs find paths in the middle of arguments, too: `file=@{path}`.
 */
function foreignTexts(template: Template, values: Values, { notPaths }: NotPaths): ForeignText[] {
  return chosenIn(template, values, notPaths).map(one => ({ from: 'argument', ...one }))
}

/** The same for the input of a program, line by line: it may be a list of files. */
export function foreignLines(template: Template, values: Values, { notPaths }: NotPaths): ForeignText[] {
  return linesOf(template).flatMap(line =>
    chosenIn(line, values, notPaths).map((one): ForeignText => ({ from: 'input', ...one })),
  )
}

type Chosen = Pick<ForeignText, 'parameter' | 'text'> & { readonly from?: 'inside' }

function chosenIn({ parts, faults }: Template, values: Values, notPaths: readonly string[]): Chosen[] {
  const chosen = parts.flatMap((part, at) => {
    if (part.kind !== 'parameter' || notPaths.includes(part.name)) return []
    const value = valueOf(values, part.name)
    return typeof value === 'string' || typeof value === 'object' ? [{ at, parameter: part.name, value }] : []
  })
  const [first] = chosen
  if (!first) return []
  const filled = [{ ...first, at: 0 }, ...chosen].map(({ at, parameter }) => ({
    parameter,
    text: fill({ parts: parts.slice(at), faults }, { values }),
  }))
  const own = chosen.flatMap(({ parameter, value }) => stringsIn(value).map(one => ({ parameter, ...one })))
  return [...new Map([...own, ...filled].map(one => [one.text, one])).values()]
}

const LINE_END = /[\r\n\0]+/

function linesOf({ parts, faults }: Template): Template[] {
  let line: TemplatePart[] = []
  const lines = [line]
  for (const part of parts) {
    if (part.kind !== 'text') line.push(part)
    else
      for (const [i, text] of part.text.split(LINE_END).entries()) {
        if (i > 0) lines.push((line = []))
        line.push({ kind: 'text', text })
      }
  }
  return lines.map(parts => ({ parts, faults }))
}

/** The texts in a value: those of lists are values too, those of objects are only inside. */
function stringsIn(value: unknown): Pick<Chosen, 'text' | 'from'>[] {
  if (typeof value === 'string') return [{ text: value }]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return Object.entries(value).flatMap(([key, item]) =>
    [{ text: key }, ...stringsIn(item)].map(({ text }) => ({ text, from: 'inside' as const })),
  )
}
